// How an instruction is built, where no single word gives it away: forbidding, ending a habit, asking to be consulted, protecting,
// limiting, obliging, wishing. One row per language; each part of a pattern is a class of speech acts, not a list of sentences.

import { type LazyPattern, lazyPattern } from './lazy-pattern.ts'

interface Forms {
  /** At the start of a sentence, behind greetings and connecting words. */
  readonly start: string
  /** Anywhere in it. */
  readonly within: string
}

const english: Forms = {
  start: [
    // A way to work rather than a piece of work.
    "(?:skip|default|treat|assume|consider|regard|favou?r|respect|follow|obey|adhere|preserve|maintain|retain|quit|refrain|resist|steer|abstain|omit|exclude|hide|mask|redact|spell out|stay|wait|remember|never|always|don['’]?t|do not|no (?!problem|worries|thanks|thank|need|idea|way|one|wait|luck|other|further|additional|changes?|matter|rush|i\\b|that|it\\b|this|you\\b|the\\b|not\\b|but\\b|sorry)[a-z-]+|leave|keep|limit|restrict|confine|cap|be (?:careful|mindful|strict|consistent|explicit|honest|quiet|patient|specific))\\b",
    'refer to|address (?:me|us|him|her|them|the)|call (?:me|us|him|her|them|it)|think of|pretend|act (?:as|like)|speak (?:as|like|to)|(?:write|talk|answer|explain|reply) .{0,60}\\b(?:as if|like an?|for an?|first|without|with(?:out)? (?:a|an|any|the))\\b',
    // Without an article: not one thing, but all of its kind.
    '(?:use|write|give|put|format|answer|name|list|quote|print|state|express|store|spell|describe|explain|show|send|report|round|indent|order|sort|group|label|number|mention|cite|include|add|end|start|begin) (?:me )?(?:(?:all|any|every|each|only|just|plain|full|short|long|exact|complete|whole|british|american) )*[a-z][a-z-]{2,}s\\b',
    '(?:use|give|write|show|send|put|name|format|pick|choose|take|run|test|store|deploy|log|mark|sign|start|end|build|document|comment|review) .{1,60}? (?:for (?:all|any|every|everything|anything|each|the whole)|with (?:the|an?) .{1,40} only|everything that|anything that)',
    '(?:ask|tell|show|warn|notify|check with|confirm with|consult|inform|ping|remind|email|run|let) .{0,60}?\\b(?:before|first|beforehand|prior|every time|each time|in advance|know when)\\b',
    '(?:nothing|no one|nobody|none|anything|whatever|whoever|everything|everyone|anyone) .{3,}',
    'only .{3,}',
    '(?:when|if|where|once) (?:i|we|you) (?:ever |say|write|talk|mention|ask|edit|change|touch|quote|refer|need)',
  ].join('|'),
  within: [
    // Obliges or forbids.
    "(?<!(?:i|we|it|this|that|there|they|he|she|something|what|why|how|which) )(?:must|shall|ought to|has to|have to|needs? to|(?:is|are) (?:not )?to be|may not|(?:can|may) only|cannot be|can['’]t be|must not|mustn['’]?t|should(?: not|n['’]?t)? (?:be|stay|remain|only|use|go|have|follow|start|end|come|contain|include|look|read|appear|carry|show|fit|mean|match|point|live|sit))",
    'it (?:must|has to|should) (?:always |never )?be (?:possible|clear|easy|obvious)',
    '(?:not|never|strictly) (?:allowed|permitted|acceptable|negotiable|an option|for (?:public|external))|forbidden|prohibited|banned|off[- ]limits|read[- ]only|out of bounds|taboo|no[- ]go|frozen|untouchable|confidential|non-negotiable|mandatory|compulsory',
    'needs? (?:a|an|one|two|three|four|my|our|approval|review|sign-?off|at least)',
    // Asks to be consulted.
    'without (?:my|our|asking|checking|telling|confirmation|permission|approval|consent|written|prior|first)|my (?:ok|okay|approval|permission|consent|go-?ahead|sign-?off|say-?so|blessing|explicit)|(?:by|past) me (?:first|before)|check(?:ing)? with me|ask(?:ing)? (?:me|us|first)|before (?:you )?(?:touch|open|change|apply|delete|send|merge|deploy|push|run|edit|commit|publish|remove)(?:ing|ting)?',
    // Protects.
    '(?:leave|keep|let|want|have) .{1,60}? (?:alone|as[- ]is|as (?:it|they) (?:is|are)|untouched|unchanged|intact|out of|away from|in sync|sorted|private|secret|confidential|up to date|the same|in (?:alphabetical|chronological|the same|this) order|ordered|separate|offline|hidden|below|under|within)|hands[- ]off|(?:stay|stays|keep|keeps) (?:away|clear|out|off)|(?:stays|remains|stay|remain) (?:exactly|as|below|under|above|offline|online|the same|unchanged|private|open|closed|compatible|backwards?|in|on|at|within|the way|where)|steer clear|lay off|hold off',
    // Limits.
    "only[.!]?$|\\bonly(?: (?:in|for|on|with|when|if|by|from|ever|after|once|to))? .{0,60}?, (?:no|not|never|nothing|so)\\b|[a-z]+ only (?:in|for|on|with|when|if|from)|(?:we|you|they) only|only (?:ever|if|when|after|once)|nothing (?:else|newer|older|more|but|gets|goes|is|leaves|may|can)|not a [a-z]+ more|no(?:t)? (?:more|longer|fewer|less|newer|older|later|earlier|bigger|larger) than|at most|at least (?:one|two|three|\\d)|a (?:maximum|minimum) of|must not exceed|(?:does|do)(?: not|n['’]t) exceed|and nothing else|nothing else",
    // Says how long.
    '(?:starting|beginning|effective|as of|with effect from) (?:now|today|immediately|this|tomorrow|next|\\p{L}+day)|with immediate effect|until (?:further notice|told|then|i)|(?:for )?as long as (?:we|i|you|this)|(?:while|when) (?:i[\\x27’]m|i am) (?:on|out|away|off|in|at)|for (?:the )?(?:future|later|reference|record)(?: reference)?|for (?:your|future) reference|(?:any|every|each) ?time|next time|whenever|whatever happens|no matter (?:what|how|who|where|when)|for (?:this|the (?:whole|entire)|all (?:of|future|further|our|my)) (?:project|task|work|chat|session|time|changes|requests)|for the whole|by default|in general|generally speaking|as a (?:habit|principle|matter|default|standard)|(?:make|get|in) (?:it |in(?:to)? )?(?:a|the) habit|(?:from )?here on(?: out)?|across the board|without fail|throughout|in (?:all|any|every) (?:cases?|circumstances?|answers?|repl(?:y|ies)|texts?|files?)|in our (?:conversations?|chats?|texts?|project|team|code)',
    // Says that it matters.
    'it(?:[\\x27’]?s| is)(?: \\p{L}+)? (?:important|essential|crucial|vital|critical|mandatory|imperative|necessary|key|paramount)(?: (?:to|for) (?:me|us))?,? (?:that|to)\\b|what (?:matters|counts|is important)|i (?:insist|expect|demand|require|care)|the (?:one|only|main|most important) thing|make (?:absolutely |very )?sure|be (?:careful|sure|mindful|certain) (?:to|not|about|with|that)|take care (?:to|not|that)|(?:please )?note (?:that|for)|bear in mind|mind that|for (?:security|legal|compliance|privacy|safety) reasons',
    // Wishes.
    "i (?:want|need|expect|(?:would|['’]d) (?:like|love)) (?:all|every|everything|each|no\\b|nothing|any|you to (?:always|never|double|check|keep|use|sign|avoid|ask|stop|be|write|answer|treat|include|mention|make sure|remember|stick|follow|add|only))|i['’]d (?:like|love) (?:all|every|everything|each|no\\b|nothing|any|you to (?:always|never|double|check|keep|use|sign|avoid|ask|stop|be|write|answer|treat|include|mention|make sure|remember|stick|follow|add|only))|i (?:want|expect|need) .{1,60}? to (?:be|stay|remain|have|show|look|go|always|never)\\b|i (?:do not|don['’]?t|never|won['’]?t|wouldn['’]?t) (?:ever )?(?:want|like|need|care for|wish)|i(?:['’]d| would) (?:really |very much |greatly )?(?:appreciate|love it|be (?:glad|happy|grateful)|rather|like it)|it(?:['’]d| would) (?:really )?(?:be (?:great|nice|good|helpful|better|best|lovely|appreciated|ideal)|help) if|i (?:hate|dislike|loathe|detest|can['’]?t stand|cannot stand|can['’]?t bear|would rather not)|there(?:['’]s| is) no need|(?:you )?(?:do not|don['’]?t|needn['’]?t|no) (?:have|need) to|(?:so|and|but|please|then) (?:please )?(?:skip|don['’]?t|avoid|spell|keep|stick|never|always|should we)",
    // What holds for the person or the house.
    'i(?:[\\x27’]m| am) (?:allergic|vegan|(?:a )?vegetarian|intolerant|diabetic|colou?r-?blind|left-handed|pescatarian|lactose|celiac|coeliac|deaf|blind|dyslexic|a beginner|not a native)|my (?:name|pronouns?|title) (?:is|are)|(?:we|our team|the team|people here) (?:do not|don[\\x27’]?t|never|always|only|prefer|follow|avoid|support|agreed)|our (?:convention|style|policy|standard|practice|guideline|agreement|naming|house)|(?:go(?:es)?|belongs?) (?:in|into|to|under|on|next to|with|straight)|(?:start|end|begin)s? with (?:a|an|the)\\b|the (?:budget|limit|deadline|maximum|minimum|cap)(?: \\p{L}+){0,4}? (?:is|are|of)',
    '(?:please|kindly) (?:do not|don[\\x27’]?t|no|never|always|only|keep|use|avoid|refrain|stick|make sure|ensure|remember|treat|leave|address|mind|stay|stop|include|mention)|,? please no\\b|,? (?:thanks|thank you|ok|okay|please)[.!]?$(?<=^no .*)|\\b(?:pls|plz)\\b',
  ].join('|'),
}

const german: Forms = {
  start:
    '(?:bitte )?(?:kein(?:e|en|er|em)?|ohne|nichts|niemand|nur|lass(?:e|t|en)?|halte?|belasse?|frag(?:e|t|en)?|zeige?|sag(?:e)?|informiere?|warte|nenne?|gib|gebt|behandle|betrachte|verzichte|vermeide?|unterlass(?:e)?|beachte|achte|denke?|bleib(?:e)?|duze?|sieze?|h(?:ö|oe)r(?:e)? (?:bitte )?auf|finger weg|h(?:ä|ae)nde weg|(?:ä|ae)ndere?|(?:ö|oe)ffne|l(?:ö|oe)sche?|fass(?:e)?|r(?:ü|ue)hr(?:e)?)\\b.*(?:nicht|kein|nie|bevor|vorher|erst|ruhe|lassen|nur|immer|jede|alle|stets|weg|auf|mich|so|emojis?|unter|mehr|darauf|daran)|bitte (?:kein|nicht|nur|immer|nie|stets|duze?|sieze?)|finger weg|h(?:ä|ae)nde weg|nur \\p{L}+|keine? \\p{L}+|ohne (?:meine|mein|r(?:ü|ue)cksprache|zustimmung|erlaubnis)',
  within:
    'darf(?:st)?|d(?:ü|ue)rfen|muss|m(?:ü|ue)ssen|soll(?:en|st|te|ten)?(?! ich)|ist (?:tabu|gesperrt|verboten|pflicht)|sind (?:tabu|gesperrt|verboten|pflicht)|bleib(?:t|en) (?:so|wie|unter|bei|in|auf|unver(?:ä|ae)ndert|gesperrt|.{1,40}kompatibel)|in ruhe|(?:mir|uns) (?:ist|w(?:ä|ae)re) (?:es )?(?:sehr )?wichtig|(?:es ist|es w(?:ä|ae)re|w(?:ä|ae)re) (?:\\p{L}+ )?(?:wichtig|sch(?:ö|oe)n|gut|nett|toll|hilfreich|besser|super),? (?:dass|wenn)|ich (?:m(?:ö|oe)chte|will|w(?:ü|ue)nsche mir|erwarte|bestehe|h(?:ä|ae)tte)|frag(?:e)? mich|bevor du|ehe du|vorher (?:fragen|bescheid|absprechen)|ohne (?:meine|r(?:ü|ue)ckfrage|r(?:ü|ue)cksprache|zustimmung|zu fragen)|nur (?:noch )?(?:lesen|auf|in|mit|nach|wenn)|ausschlie(?:ß|ss)lich|h(?:ö|oe)chstens|maximal|mindestens|nicht (?:mehr als|l(?:ä|ae)nger als)|bis auf weiteres|solange|sofern nicht|jeweils|jedes mal|wann immer|sobald du|generell|im zweifel|hinweis|wichtig:|ich (?:bin|hei(?:ß|ss)e) (?:allergisch|vegan|vegetarier)|wir (?:verwenden|nutzen|schreiben|benutzen) (?:hier |bei uns |immer |keine?)|(?:gehen|geht|kommen|kommt|geh(?:ö|oe)r(?:t|en)) (?:\\p{L}+ )?(?:an|in|zu|nach|unter)(?: die| den| das| dem| der)?|(?:ist|sind) .{1,60}(?:\\p{L}+zu\\p{L}+|zu \\p{L}+en)[.!]?$|(?:angeben|schreiben|verwenden|nennen|fragen|lassen|nutzen|benutzen|vermeiden|formatieren|beachten|sortieren)[.!]?$|kannst du (?:bitte )?.{0,40}(?:immer|grunds|stets|jedes)',
}

const french: Forms = {
  start:
    "(?:ne |n['’])\\p{L}+|(?:surtout |merci |veuillez |pri[èe]re )(?:de )?(?:ne )?|pas (?:de |d['’])|aucun(?:e)? |rien |plus (?:de|d['’])|seul(?:e|s|es)? |uniquement|laisse(?:z)?|garde(?:z)?|arr[êe]te(?:z)?|cesse(?:z)?|[ée]vite(?:z)?|demande(?:z)?-moi|pr[ée]viens|pr[ée]venez|montre-moi .* avant|consid[èe]re|traite(?:z)? |respecte|reste(?:z)? |tutoie|vouvoie|appelle|limite|abstiens|abstenez|attends|toujours|jamais|touche pas|mets? |cite|donne(?:z)? (?:toujours|les)",
  within:
    "doi(?:t|vent|s)|devr(?:a|ont|ait|aient)|il (?:est|serait) (?:\\p{L}+ )?(?:important|essentiel|crucial|imp[ée]ratif|n[ée]cessaire|interdit|souhaitable|bien)|il ne faut|interdit|j['’](?:aimerais|appr[ée]cierais|exige|insiste)|je (?:souhaite|voudrais|veux|tiens|d[ée]teste|pr[ée]f[èe]re|ne (?:veux|supporte))|[çc]a serait (?:bien|super|sympa)|ce serait (?:bien|super|sympa)|tiens [àa] ce que|avant de \\p{L}+|avant que|sans (?:mon|ma|me|mes|autorisation|demander)|mon (?:accord|aval|feu vert)|jusqu['’][àa] nouvel ordre|tant que|chaque fois|quand (?:on|je|nous) (?:parle|dis|[ée]cri)|quoi qu['’]il|comme (?:il|elle) est|tels? quels?|telles? quelles?|tranquille|intact|au (?:plus|maximum|moins)|pas plus de|ne (?:doit|peut|d[ée]passe)|nous n['’]utilisons|on n['’]utilise|chez nous|je suis (?:allergique|v[ée]g[ée]tarien|v[ée]gan)|(?:va|vont) (?:à|dans|au|aux|chez) ",
}

const spanish: Forms = {
  start:
    'no (?:me |te |lo |la |los |las |le |se |nos |vuelvas a |quiero )?\\p{L}+(?:as|es|a|e|en|an|is)\\b|nada (?:de |se |sale)|ning[úu]n\\p{L}* |sin |solo |s[óo]lo |solamente |[úu]nicamente |deja(?:d|r)? |dej[ae]n? |evita|mant[ée]n|preg[úu]ntame|cons[úu]ltame|av[íi]same|trata(?:me)? |tr[áa]tame|considera|respeta|sigue |para de |basta de |al[ée]jate|limita|espera|siempre|nunca|jam[áa]s|pon |usa |cita |escribe ',
  within:
    'debe(?:n|s|r[íi]a|r[íi]an|r[áa]|r[áa]n)?|tiene(?:n|s)? que|ha(?:n)? de|hay que|no (?:se )?(?:puede|debe|permite|toca)|prohibido|(?:es|ser[íi]a) (?:\\p{L}+ )?(?:importante|esencial|crucial|fundamental|imprescindible|necesario|mejor|bueno)|(?:me )?(?:gustar[íi]a|agradecer[íi]a|encantar[íi]a|interesa|molesta|importa)|quiero|necesito que|exijo|insisto|detesto|odio|antes de \\p{L}+|antes que|sin (?:mi|consultar|preguntar|permiso|avisar)|mi (?:permiso|visto bueno|aprobaci[óo]n)|hasta nuevo aviso|mientras|cada vez|cuando (?:hablemos|hables|diga|escribas)|pase lo que pase|como est[áa]|tal cual|intacto|como m[áa]ximo|como mucho|al menos|no m[áa]s de|no (?:pase|supere|exceda)|nunca|aqu[íi] (?:no )?usamos|soy (?:al[ée]rgic|vegan|vegetarian)|van? (?:a|en|para) (?:la |el |los )?\\p{L}+',
}

const italian: Forms = {
  start:
    'non \\p{L}+(?:are|ere|ire|rre|arlo|erlo|te)\\b|niente |nessun\\p{L}* |nulla |senza |solo |soltanto |solamente |lascia|smetti(?:la)?|smettetela|basta |evita|mantieni|tieni|chiedi(?:mi)?|avvisa(?:mi)?|consulta|tratta|considera|rispetta|segui |limita|aspetta|sempre|mai |dammi |dai |cita |fai attenzione|usa |assicurati',
  within:
    "dev(?:e|ono|i)|dovr(?:ebbe|ebbero|[àa]|anno)|va(?:nno)? (?:\\p{L}+at[oaie]|in |a |al|messo|scritt)|bisogna|occorre|non (?:si|pu[òo]|possono|deve|superi)|vietat[oaie]|[èe] (?:\\p{L}+ )?(?:importante|essenziale|fondamentale|necessario|cruciale|meglio|vietato)|sarebbe (?:bello|meglio|utile|bene)|(?:vorrei|voglio|mi piacerebbe|preferirei|desidero|pretendo|esigo|odio|detesto|mi aspetto)|tengo a|prima di \\p{L}+|prima che|senza (?:il mio|la mia|chiedere|permesso)|mio (?:permesso|consenso|ok|benestare)|fino a nuovo|finch[ée]|ogni volta|quando (?:parl|dico|scriv)|qualunque cosa|cos[ìi] com['’][èe]|com['’][èe]|intatt[oa]|al massimo|almeno|non pi[ùu] di|(?:resti|rimanga|resta|rimane) \\p{L}+|sono (?:allergic|vegan|vegetarian)|da noi",
}

const portuguese: Forms = {
  start:
    'n[ãa]o (?:me |se |o |a |nos )?\\p{L}+(?:e|a|es|as|em|am)\\b|nada (?:de |sai)|nenhum\\p{L}* |sem |s[óo] |somente |apenas |deix[ea]\\p{L}* |evit[ea]|mant[ée](?:nha|m)|pergunt[ea]\\p{L}*|avis[ea]\\p{L}*|consult[ea]|trat[ea]|consider[ea]|respeit[ea]|par[ea] de|chega de|limit[ea]|esper[ea]|sempre|nunca|jamais|cit[ea]|us[ea] |escrev[ea]',
  within:
    'dev(?:e|em|eria|eriam|er[áa]|er[ãa]o)|t[êe]m? (?:que|de)|precisa(?:m)? (?:ser|estar|de|ter|ir|vir|usar)|n[ãa]o (?:se |pode|podem|deve|passe|ultrapasse|exceda)|proibid[oa]|[ée] (?:\\p{L}+ )?(?:importante|essencial|fundamental|necess[áa]rio|crucial|proibido|melhor)|seria (?:bom|[óo]timo|melhor|legal)|(?:gostaria|quero|queria|preciso|prefiro|exijo|detesto|odeio|agradeceria|fa[çc]o quest[ãa]o)|antes de \\p{L}+|antes que|sem (?:minha|meu|perguntar|permiss|autoriza)|minha (?:aprova[çc][ãa]o|permiss[ãa]o|autoriza[çc][ãa]o)|at[ée] (?:segunda|nova) ordem|enquanto|cada vez|toda vez|quando (?:falar|eu disser|escrever)|aconte[çc]a o que|como est[áa]|intact[oa]|no m[áa]ximo|pelo menos|n[ãa]o mais (?:de|que)|continue|permane[çc]a|sou (?:al[ée]rgic|vegan|vegetarian)|v[ãa]o? (?:para|a|em) ',
}

const dutch: Forms = {
  start:
    '(?:graag |alsjeblieft )?(?:geen|niets|niemand|zonder|alleen|uitsluitend|enkel|laat|blijf|hou(?:d)?|stop|vraag|vermijd|behandel|beschouw|noem|toon|waarschuw|wacht|raak|kom|zorg|let|pas|verander|wijzig|verwijder|nooit|altijd|beperk|schrijf|gebruik|vermeld|respecteer|volg)\\b',
  within:
    'moet(?:en)?|mag|mogen|dient|dienen|hoort|horen|verboden|(?:het is|het zou) (?:\\p{L}+ )?(?:belangrijk|essentieel|cruciaal|noodzakelijk|fijn|mooi|goed|beter)|ik (?:wil|zou|verwacht|eis|sta erop|haat|heb een hekel|wens)|voordat je|voor je|zonder (?:mijn|toestemming|overleg|te vragen)|mijn (?:toestemming|akkoord|goedkeuring)|tot nader order|zolang|telkens|elke keer|wanneer je|hoe dan ook|wat er ook|zoals het is|met rust|ongewijzigd|hoogstens|maximaal|minstens|niet (?:meer|langer) dan|niet langer|blijft|blijven|bij ons|wij gebruiken|ik ben (?:allergisch|veganist|vegetari)|gaan? (?:naar|in|onder)',
}

const nordic: Forms = {
  start:
    '(?:inga|ingen|inget|ingenting|bara|endast|kun|bare|r[öøo]r|l[åa]t|sluta|slut[t]?|stopp?|fr[åa]ga|sp[øo]r|undvik|unng[åa]|undg[åa]|h[åa]ll|hold|beh[åa]ll|skriv|anv[äa]nd|brug|bruk|visa|behandla|betrakta|respektera|f[öo]lj|v[äa]nta|kalla|aldrig|aldri|alltid|altid|rør|ikke)\\b',
  within:
    'alltid|altid|aldrig|aldri|fr[åa]n och med|fra n[åu]|m[åa]ste|skall?|skal|b[öøo]r|f[åa]r (?:inte|bara|aldrig|endast|ikke|kun)|m[åa] (?:ikke|kun|bare)|f[öo]rbjud\\p{L}*|forbud\\p{L}*|(?:det [äae]r|det vore|det ville) (?:\\p{L}+ )?(?:viktig\\p{L}*|avg[öo]rande|n[öo]dv[äa]ndig\\p{L}*|bra|sn[äa]llt|vigtig\\p{L}*)|jag (?:vill|[öo]nskar|skulle|f[öo]redrar|hatar|f[öo]rv[äa]ntar)|jeg (?:vil|ønsker|foretrekker|foretr[æa]kker)|innan du|f[øo]r du|utan (?:mitt|att fr[åa]ga)|uden (?:min|at)|tills (?:vidare|jag)|s[åa] l[äa]nge|varje g[åa]ng|hver gang|som (?:det|den) [äæe]r|or[öo]rd|h[öo]gst|minst|inte mer [äa]n|f[öo]rblir|forbliver|g[åa]r (?:till|til)',
}

const russian: Forms = {
  start:
    'не \\p{L}+(?:й|йте|и|ите|ь|ьте|йся|йтесь|ись)(?![\\p{L}])|никак\\p{L}+ |ничего |никто |только |лишь |без |оставь(?:те)? |оставляй(?:те)? |хватит|перестань(?:те)?|прекрати(?:те)?|прекращай(?:те)?|держи(?:те)?(?:сь)? |спрашивай(?:те)?|спроси(?:те)?|предупреждай(?:те)?|покажи(?:те)? .* прежде|показывай(?:те)?|считай(?:те)?|относись|соблюдай(?:те)?|избегай(?:те)?|указывай(?:те)?|проверяй(?:те)?|ограничь(?:ся|тесь)?|жди(?:те)?|дожд|обращай|называй|отправляй|\\p{L}{3,}(?:йте|айте|уйте|яйте|ай|уй|яй)(?![\\p{L}])',
  within:
    'должн[аоы]?|должен|обязан[аоы]?|следует|надо|нужно|необходимо|нельзя|запрещ\\p{L}+|не (?:смей|допускай|превыша\\p{L}+|более|больше|позднее)|важно,? (?:чтобы|что)|(?:мне )?(?:бы )?хотел(?:ось|а|)(?: бы)?|хочу|предпочит\\p{L}+|предпоч[ёе]л|терпеть не могу|ненавижу|требую|настаиваю|прошу|было бы (?:хорошо|здорово|лучше)|прежде чем|перед тем,? как|без (?:моего|моей|спроса|разрешения|согласия)|мо[её]г?о? (?:разрешени|согласи|одобрени)\\p{L}*|до (?:особого|дальнейших)|пока (?:мы|ты|вы|я)|каждый раз|всякий раз|когда (?:пишешь|говоришь|я говорю)|что бы ни|как есть|в покое|не более|не менее|максимум|минимум|впредь|у меня аллергия|я (?:веган|вегетариан)\\p{L}*|у нас (?:не )?принято',
}

const ukrainian: Forms = {
  start:
    'не \\p{L}+(?:й|йте|и|іть|ь|те|йся)(?![\\p{L}])|жодн\\p{L}+ |нічого |ніхто |тільки |лише |без |залиш(?:те)?|облиш|годі|припини(?:ти|те)?|перестань(?:те)?|тримай|питай|запитуй|попереджай|показуй|вважай|дотримуй|уникай|вказуй|перевіряй|чекай|\\p{L}{3,}(?:йте|айте|уйте|ай|уй|юй)(?![\\p{L}])',
  within:
    'завжди|ніколи|жодного разу|за жодних|відтепер|надалі|має|мають|повинн[аоіе]?|повинен|мусить|мусять|слід|треба|потрібно|необхідно|заборонен\\p{L}*|не можна|важливо,? (?:щоб|що)|(?:мені )?(?:б )?хотілося|хочу|волію|надаю перевагу|прошу|вимагаю|перш ніж|перед тим,? як|без (?:мого|моєї|дозволу)|поки (?:я|ми)|щоразу|кожного разу|як є|у спокої|не більше|щонайбільше|максимум|будь ласка,? не',
}

const polish: Forms = {
  start:
    'ani (?:mi )?si[ęe] waż|ani słow|nie \\p{L}+(?:aj|uj|ij|yj|ej|ź|ń|cie|sz|j)(?![\\p{L}])|żadn\\p{L}+ |nic |nikt |tylko |jedynie |bez |zostaw(?:cie)?|przestań(?:cie)?|skończ|dość |trzymaj|pytaj|zapytaj|ostrzegaj|pokaż .* zanim|pokazuj|traktuj|uważaj|przestrzegaj|unikaj|podawaj|sprawdzaj|ogranicz|czekaj|poczekaj|\\p{L}{3,}(?:uj|aj|ajcie|ujcie)(?![\\p{L}])',
  within:
    'mus(?:i|zą|isz)|powinn[aoye]\\p{L}*|ma(?:ją)? (?:być|pozosta|zosta)|należy|trzeba|wolno|zabronion\\p{L}+|zakaz\\p{L}*|nie (?:może|mogą|przekracza|więcej)|ważne|(?:jest|byłoby) (?:\\p{L}+ )?(?:ważne|dobrze|istotne|konieczne)|chciał(?:a)?bym|chcę|oczekuję|wymagam|nienawidzę|nie znoszę|proszę|zanim|bez (?:mojej|pytania|zgody)|moj(?:a|ej|ą) zgod\\p{L}|do odwołania|póki|ilekroć|za każdym razem|tak jak jest|w spokoju|maksymalnie|najwyżej|co najmniej|nie więcej niż|odtąd|idą do|jestem (?:uczulon|weganin|wegetarian)\\p{L}*',
}

const czech: Forms = {
  start:
    '(?:na .{1,40}? )?ne\\p{L}+(?:ej|uj|aj|te|i|ň|ž|v|m|s|z|d|š)(?![\\p{L}])|žádn\\p{L}+ |nic |nikdo |jen |pouze |bez |nech(?:te)?|přestaň(?:te)?|dost |drž|ptej|zeptej|upozorni|ukaž|považuj|dodržuj|vyhýbej|vyhni|uváděj|kontroluj|omez|počkej|\\p{L}{3,}(?:uj|ej|ujte|ejte)(?![\\p{L}])',
  within:
    'vždy|nikdy|od (?:teď|nynějška|této chvíle|dneška)|odteď|napříště|mus(?:í|ejí|íš)|měl[aoiy]? by|m(?:á|ají) (?:být|zůstat)|nesm(?:í|ějí|íš)|je (?:třeba|nutné|důležité|zakázáno)|zakázan\\p{L}+|důležité|chtěl(?:a)? bych|chci|přeji si|očekávám|nesnáším|prosím|než |předtím|bez (?:mého|ptaní|svolení)|až do odvolání|dokud|pokaždé|kdykoli|tak jak je|na pokoji|maximálně|nejvýše|alespoň|ne více než|dávám přednost|preferuji|raději|ne(?:sahej|maž|měň|používej|dotýkej|mluv|piš|posílej|restartuj)(?:te)?',
}

const turkish: Forms = {
  start: 'hiçbir |sadece |yalnızca |asla |sakın |lütfen ',
  within:
    '\\p{L}+(?:ma|me)(?:yın|yin|yınız|yiniz|sın|sin|sınlar|sinler)?[.!]?$|\\p{L}+(?:sın|sin|sun|sün|sınlar|sinler)[.!]?$|\\p{L}+(?:malı|meli)(?:dır|dir|sın|sin|yız|yiz)?|gerek(?:ir|iyor|li)?|zorunda|şart|yasak|olmasın|kalsın|gitsin|geçmesin|isti?yorum|isterim|istemem|rica ederim|tercih|önemli|nefret|önce (?:bana )?(?:sor|danış|haber)|sormadan|izinsiz|izin(?:im)? (?:olmadan|almadan)|onayım|ikinci bir emre|sürece|her (?:sefer|defa)|ne olursa|olduğu gibi|rahat bırak|dokunma|en fazla|en az|(?:bırak|kes)[.!]?$|vazgeç',
}

const vietnamese: Forms = {
  start:
    'đừng|không (?:được|bao giờ|nên|cần)|chỉ |luôn|hãy |xin |vui lòng|tránh|giữ |để yên|hỏi |cấm|ngừng|thôi ',
  within:
    'luôn|không bao giờ|phải|cần phải|không được|bắt buộc|nên |cấm|tôi (?:muốn|thích|mong|cần|ghét|yêu cầu)|trước khi|nếu không có|cho (?:đến|tới) khi|mỗi (?:lần|khi)|bất kể|giữ nguyên|tối đa|ít nhất|không quá|từ (?:giờ|nay|bây giờ)|quan trọng',
}

const indonesian: Forms = {
  start:
    'jangan|tidak boleh|tolong|mohon|harap|hanya |cukup |selalu|hindari|biarkan|tanya|hentikan|berhenti|pastikan|dilarang|gunakan|pakai ',
  within:
    'selalu|jangan|tidak pernah|harus|wajib|tidak boleh|dilarang|sebaiknya|perlu |saya (?:ingin|mau|lebih suka|minta|harap|benci)|sebelum |tanpa (?:izin|bertanya|persetujuan)|sampai (?:saya|ada)|selama |setiap kali|apa pun yang|apa adanya|maksimal|minimal|paling (?:banyak|sedikit)|tidak (?:lebih|melebihi)|mulai (?:sekarang|hari ini)|penting',
}

const arabic: Forms = {
  start:
    'تذكر|تذكّر|لا تنس|من الآن|لا ت|لا ي|لا أ|ممنوع|فقط|دع |اترك|توقف|تجنب|اسأل|احرص|تأكد|التزم|استخدم|اذكر|عامل|ابق',
  within:
    'يجب|ينبغي|لا بد|من الضروري|من المهم|المهم أن|ممنوع|غير مسموح|لا يجوز|أريد|أفضل|أفضّل|أرجو|من فضلك|رجاء|أكره|قبل أن|بدون إذن|دون (?:إذن|موافق)|حتى (?:أقول|إشعار)|طالما|كلما|في كل مرة|مهما|كما هو|على الأكثر|على الأقل|دائم|أبد|من الآن|مطلق',
}

const hindi: Forms = {
  start: 'कृपया|कभी|हमेशा|केवल|सिर्फ|कोई भी|याद रख',
  within:
    'मत |मत।|मत$|ज़रूर|जरूर|(?:ना|लो|दो|रखो|करो|लिखो|बताओ|इए|िए)।$|न (?:करें|करो|करना|दें|हटाएँ|बदलें)|नहीं (?:करना|होना|चाहिए|चाहता|चाहती)|चाहिए|चाहता हूँ|चाहती हूँ|पसंद|ज़रूरी|जरूरी|अनिवार्य|मना है|अब से|आगे से|हमेशा|कभी (?:भी )?(?:न|मत|नहीं)|से पहले (?:मुझसे|मुझे|पूछ)|मेरी अनुमति|जब तक|हर बार|जब भी|किसी भी (?:हाल|स्थिति)|वैसा ही|अधिकतम|कम से कम|से अधिक न|याद रख',
}

const chinese: Forms = {
  start: '[别別]|勿|[请請]|[确確]保|保持|避免|只|仅|僅|所有|任何|每|一律|禁止|停止|先',
  within:
    '(?:需要?|[应應]该?|[应應]當|[应應]当|得|要)(?:用|是|在|先|保持|按|使用|以)|不(?:要|得|可|能|准|許|许|应|應|超[过過]|再)|保持(?:原[样樣]|不[变變]|一致|兼容)|原[样樣]|[确確]保|注意|之前.{0,6}(?:先|要)?(?:[问問]|告[诉訴]|通知|[经經][过過])|先(?:[问問]|跟|和|[征徵]求|[经經][过過]|通知)|未[经經]|沒有我的|没有我的|最多|至少|不超[过過]|希望|想要|[讨討][厌厭]|[无無][论論]|任何情[况況]|停止|[别別]再|重要|[当當]我[说說]|我[对對].{1,10}[过過]敏',
}

const japanese: Forms = {
  start: '必ず|絶対|常に|決して|毎回|すべて|全て|どんな|いかなる|なるべく|できるだけ',
  within:
    'ないで[。！!]?$|ないで(?:ね|よ)|しないこと|ること[。！!]?$|くこと[。！!]?$|すこと[。！!]?$|うこと[。！!]?$|むこと[。！!]?$|つこと[。！!]?$|そのまま|べき|なければ(?:ならない|なりません|いけません|いけない)|必要が(?:ある|あり)|てはならない|てはいけ|ちゃだめ|ちゃダメ|だめです|ダメです|大事です|大切です|重要です|(?:て|で)ほしい|(?:て|で)欲しい|(?:て|で)もらいたい|(?:て|で)いただ(?:き|け)|(?:ように|までに|以内に|以下に)(?:して|お願い|する)|(?:前|まえ)に.{0,10}(?:聞|確認|相談|尋ね|知らせ)|許可(?:なく|なし|が|を)|勝手に|触らない|控えて|避け|やめ(?:て|る)|嫌い|苦手|限り|たびに|場合は|場合でも|までは|以外|だけ(?:に|で|を)|のみ',
}

const korean: Forms = {
  start: '절대|항상|반드시|꼭|모든|어떤|되도록|가능하면|제발',
  within:
    '지 ?(?:마|말|않)|그대로|건드리|야 (?:합니다|해요|해|한다|됩니다|돼요|돼|하며)|안 ?(?:됩니다|돼요|돼|된다)|(?:것이|게|건|점이) (?:매우 |정말 |아주 )?(?:중요|좋)|중요(?:합니다|해요|해)|(?:았|었|였|으)?면 (?:좋겠|합니다|해요|고맙|감사)|(?:바랍니다|바라요|원해요|원합니다|싶어요|싶습니다)|(?:도록|게) (?:해|하|부탁)|그만 ?|전에.{0,10}(?:물어|확인|알려|말해|허락)|허락|승인|동의 ?없이|때마다|경우에(?:는|도)|할 때는|까지(?:는)?|최대|최소|이하로|이내로|넘지|만 (?:쓰|써|사용|하|해)|피해|자제|싫|주세요[.!]?$|십시오[.!]?$',
}

const finnish: Forms = {
  start:
    'älä(?: |$)|älkää|ei (?:enää |mitään |yhtään )|vain |ainoastaan |aina |käytä |kysy |vältä |jätä |lopeta |muista |varmista ',
  within:
    'täytyy|pitää|on (?:oltava|pakko|tärkeää|kielletty)|ei (?:saa|pidä|koskaan)|aina|tästä (?:lähtien|eteenpäin)|jatkossa|vastedes|haluan|toivon|toivoisin|arvostaisin|olisin kiitollinen|mieluummin|ennen kuin|ilman (?:lupaa|lupaani|kysymättä)|kunnes|joka kerta|kaikki .{1,60}(?:taan|tään)[.!]?$|korkeintaan|enintään|vähintään|koko (?:istunnon|keskustelun)|muista',
}

const hungarian: Forms = {
  start:
    'ne (?:\\p{L})|soha |mindig |csak |kizárólag |kérlek|kérem|semmi(?:lyen)? |hagyd |kerüld |használj |kérdezz |emlékezz |jegyezd ',
  within:
    'mostantól|ezentúl|a továbbiakban|kell|tilos|nem (?:szabad|lehet)|mindig|soha|szeretném|azt akarom|inkább|hálás lennék|örülnék|fontos|mielőtt|engedély(?:em)? nélkül|amíg|minden (?:alkalommal|egyes|\\p{L}+(?:t|nak|nek|ban|ben))|legfeljebb|legalább|ne (?:nyúlj|módosíts|törölj|használj|írj|küldj)|az egész|jegyezd meg',
}

const romanian: Forms = {
  start:
    'nu (?:\\p{L})|niciodat[ăa]|întotdeauna|mereu |doar |numai |te rog|v[ăa] rog|fără |niciun\\p{L}* |evit[ăa]|las[ăa] |folose[șs]te|întreab[ăa]|ține minte',
  within:
    'de acum (?:înainte|încolo)|pe viitor|trebuie|interzis|nu (?:ai voie|se |poate|pot)|întotdeauna|niciodat[ăa]|a[șs] (?:vrea|dori|aprecia|prefera)|vreau|prefer|important|înainte (?:de|s[ăa])|f[ăa]r[ăa] (?:acordul|permisiunea|s[ăa] m[ăa])|pân[ăa] la noi|de fiecare dat[ăa]|fiecare|cel mult|cel puțin|ține minte',
}

const greek: Forms = {
  start:
    'μη[νν]? |μην|ποτέ|πάντα|μόνο |παρακαλώ|χωρίς |καμία |κανένα|άφησε|απόφυγε|χρησιμοποίησε|ρώτα|θυμήσου',
  within:
    'από (?:εδώ και πέρα|τώρα και στο εξής|δω και πέρα)|στο εξής|πρέπει|απαγορεύεται|δεν επιτρέπεται|πάντα|ποτέ|θα ήθελα|θέλω|προτιμώ|είναι σημαντικό|πριν|χωρίς (?:να|την|άδεια)|μέχρι|κάθε (?:φορά|\\p{L}+)|το πολύ|τουλάχιστον|όλα τα|όλες οι|όλοι οι',
}

const hebrew: Forms = {
  start: 'אל |לא ל|לעולם|תמיד|רק |בבקשה|אסור|בלי |ללא |הימנע|השאר|שאל|השתמש|זכור|תזכור',
  within:
    'מעכשיו|מעתה|מהיום|חייב|חייבת|חייבים|צריך להיות|צריכים|אסור|אין ל|תמיד|לעולם|אני (?:רוצה|מעדיף|מעדיפה|מבקש|מבקשת)|אודה|חשוב|לפני ש|בלי (?:אישור|לשאול)|ללא (?:אישור|רשות)|בכל פעם|לכל היותר|לפחות|בלבד|כל ה',
}

const persian: Forms = {
  start: 'هرگز|هیچ|همیشه|فقط|لطفا|لطفاً|نباید|بدون ',
  within:
    'از این به بعد|از حالا|باید|نباید|ممنوع|هرگز|همیشه|می‌خواهم|میخواهم|ترجیح|مهم است|قبل از|بدون اجازه|تا اطلاع|هر بار|هر وقت|حداکثر|حداقل|به خاطر داشته|یادت باشد',
}

const thai: Forms = {
  start: 'อย่า|ห้าม|กรุณา|โปรด|เสมอ|เฉพาะ|ทุก',
  within:
    'ต่อจากนี้|จากนี้ไป|นับจากนี้|ต้อง|ห้าม|อย่า|เสมอ|ไม่ควร|ควร|ฉันต้องการ|ผมต้องการ|อยากให้|ก่อนที่|โดยไม่ได้รับ|จนกว่า|ทุกครั้ง|ไม่เกิน|อย่างน้อย|เท่านั้น|จำไว้',
}

const spaced = [
  finnish,
  hungarian,
  romanian,
  greek,
  english,
  german,
  french,
  spanish,
  italian,
  portuguese,
  dutch,
  nordic,
  russian,
  ukrainian,
  polish,
  czech,
  turkish,
  vietnamese,
  indonesian,
] as const
const unspaced = [hebrew, persian, thai, arabic, hindi, chinese, japanese, korean] as const

/** Greetings and connecting words in front of an instruction. */
const lead =
  "(?:(?:please|also|and|but|so|oh|ok(?:ay)?|btw|by the way|one more thing|again|remember|note|important|however|instead|actually|just|fyi|ps|p\\.s|reminder|hey|hi|thanks|a general remark|general remark|small request[^:]{0,60}|bitte|au(?:ß|ss)erdem|noch etwas|und|aber|s['’]il te pla[îi]t|et|aussi|por favor|y|adem[áa]s|per favore|e|inoltre|al[ée]m disso|alsjeblieft|en|ook|пожалуйста|и|также|будь ласка|proszę|i|prosím|lütfen|ve|tolong|xin)[,:.]? +)*"

const start = /* @__PURE__ */ lazyPattern(
  () =>
    new RegExp(
      `^["'(*_]*${lead}(?:(?:${spaced.map((forms) => forms.start).join('|')})|(?:${unspaced.map((forms) => forms.start).join('|')}))`,
      'iu',
    ),
)
const within = /* @__PURE__ */ lazyPattern(
  () =>
    new RegExp(
      `(?<![\\p{L}\\p{N}])(?:${spaced.map((forms) => forms.within).join('|')})(?![\\p{L}\\p{N}])|${unspaced.map((forms) => forms.within).join('|')}`,
      'iu',
    ),
)

/** One expression for a class of speech acts. Languages without spaces have no word edges. */
function anyOf(words: readonly string[], signs: readonly string[]): LazyPattern {
  return lazyPattern(() => {
    const edged = `(?<![\\p{L}\\p{N}])(?:${words.join('|')})(?![\\p{L}\\p{N}])`
    return new RegExp([edged, ...signs].join('|'), 'iu')
  })
}

/** "Before every deletion", "for each query that you write": what holds in all cases. */
const everyCase = /* @__PURE__ */ anyOf(
  [
    '(?:for|before|after|on|with|at|prior to) (?:every|each|any|all) \\p{L}+',
    '(?:f(?:ü|ue)r|vor|nach|bei|zu) (?:jede[rnms]?|allen)',
    '(?:pour|avant|apr[èe]s|dans|[àa]) (?:chaque|tou(?:te|s|tes))',
    '(?:para|antes de|despu[ée]s de|en|em|depois de) (?:cada|tod[oa]s)',
    '(?:per|prima di|dopo|in) (?:ogni|tutt[ie])',
    '(?:voor|bij|na) (?:elke?|iedere?|alle)',
    '(?:före|innan|efter|etter|vid|ved|før) (?:varje|hver|hvert)',
    '(?:dla|przed|po|przy) każd\\p{L}+',
    '(?:před|po|při|u) každ\\p{L}+',
    '(?:для|перед|после|при) кажд\\p{L}+',
    '(?:для|перед|після) кожн\\p{L}+',
    'her \\p{L}+(?:d[ea]n|t[ea]n) (?:önce|sonra)',
    '(?:trước|sau) mỗi',
    '(?:sebelum|setelah|untuk) (?:setiap|tiap)',
    'ennen (?:jokaista|joka)',
    'minden \\p{L}+ (?:előtt|után)',
    '(?:înainte de|după|pentru) (?:fiecare|toate)',
    '(?:πριν από|μετά από|για) κάθε',
  ],
  [
    '(?:לפני|אחרי) כל',
    '(?:قبل|بعد) كل',
    'हर .{1,20}से पहले',
    '每次.{1,10}[前后後]',
    '毎回|たびに',
    '때마다',
  ],
)
/** "Enough of the long answers", "stop apologizing": ends a habit. */
const enough = /* @__PURE__ */ anyOf(
  [
    '(?:enough|done) (?:of|with) (?:the|these|those|your)|quit \\p{L}+ing|no more \\p{L}+|zero tolerance',
    'schluss mit|genug (?:von|mit)',
    'fini(?:e|s|es)? (?:les|le|la|de)|marre (?:de|des)|y en a marre',
    'basta (?:de|con|di|ya)|ya basta|se acab[óo]',
    'chega de|nada de',
    'hou(?:d)? op|genoeg (?:van|met)',
    'sluta|slut med|nok (?:med|af|av)',
    'dość (?:tych)?|koniec z|dost(?:i)? (?:už|těch)',
    'хватит|довольно|досить|годі',
    'son ver|yeter|bırak(?:ın)? artık',
    'riittää jo|elég (?:a|az|volt)|gata cu|destul cu|αρκετά με|cukup sudah',
  ],
  ['もう.{1,20}(?:やめ|いらない|不要)', '够了|別再|别再', '그만', 'كفى', 'बस करो|बंद करो'],
)
/** "Don't you dare": a prohibition with a threat. */
const dare = /* @__PURE__ */ anyOf(
  [
    "don['’]?t (?:you )?(?:even think|dare|you dare)|do me (?:a|the) favou?r and",
    'wehe|untersteh dich|gnade dir',
    "gare [àa] toi|t['’]avise pas|n['’]y pense m[êe]me pas",
    'ni se te ocurra|ni lo sue[ñn]es|cuidado con',
    'guai (?:a te|se)|non (?:ti )?azzard\\p{L}+|nemmeno per sogno',
    'nem pens(?:e|es|ar)|nem sonh\\p{L}+',
    'waag het niet|haal het niet in je hoofd',
    'våga inte|vov(?:e)? ikke|ani (?:mi )?si[ęe] waż|opovaž se',
    'не вздумай|даже не думай|не смей|навіть не думай',
    'sakın|aklından bile geçirme',
  ],
  [],
)
/** "Only in French", "you may only read": leaves one way. */
const oneWay = /* @__PURE__ */ anyOf(
  [
    '(?:can|may|could|should) only|only (?:ever )?(?:in|with|by|from|through|via)|nothing but',
    'nur (?:auf|in|mit|per|von|über)|ausschlie(?:ß|ss)lich|(?:überall|durchgängig|durchgehend|ausnahmslos)',
    'ne peu(?:t|x|vent) que|seulement (?:en|avec|par)|uniquement|partout',
    '(?:s[óo]lo|solamente|[úu]nicamente) (?:puede[sn]?|en|con|por)|en todas partes',
    'pu(?:ò|oi) solo|possono solo|(?:solo|soltanto) (?:in|con|per)|ovunque',
    's[óo] (?:pode|podem|em|com|por)|apenas|somente',
    '(?:alleen|uitsluitend) (?:in|met|via|op)|overal',
    '(?:endast|bara|kun|bare) (?:på|i|med|via)|överallt|overalt',
    '(?:tylko|wyłącznie) (?:w|po|na|z|przez)|wszędzie|(?:jen|pouze) (?:v|na|s)|všude',
    '(?:только|исключительно|лишь) (?:на|в|с|через|по)|везде|(?:тільки|лише|виключно) (?:на|в|у|з)|скрізь',
    '(?:sadece|yalnızca) \\p{L}+|her yerde',
    'vain \\p{L}+|kaikkialla|csak \\p{L}+|mindenhol|numai (?:în|cu|pe)|μόνο (?:σε|με|στα)|chỉ (?:bằng|dùng)|hanya (?:dalam|dengan|boleh)',
  ],
  [
    'בלבד',
    'فقط',
    'केवल|सिर्फ|ही ',
    '只能|仅限|僅限|一律|统一|統一',
    'だけで|のみ|すべて.{1,12}で[。]?$|全て.{1,12}で[。]?$',
    '로만|으로만|모두 .{1,12}로',
  ],
)
/** "Our rule for dates is ...", "the convention here is ...". */
const norm =
  /(?<![\p{L}])(?:the|our|my|a|one|another|main|only|new) (?:\p{L}+ ){0,2}(?:rule|convention|policy|guideline|requirement|standard|agreement|principle)(?: (?:here|on|in|for|at|with|of|about) .{1,40}?)? (?:is|are|says|holds|applies)(?![\p{L}])/iu
/** "Commit messages: imperative mood, at most 50 characters." names a thing and how it has to be. */
const specification =
  /^["'(*_]*\p{L}[\p{L}\d -]{2,40}: .{0,120}?(?<![\p{L}])(?:max(?:imum)?|min(?:imum)?|at (?:most|least)|up to|only|no|never|always|mood|case|style|format|characters|words|lines|digits|letters|h(?:ö|oe)chstens|mindestens|maximal|nur|kein\p{L}*|maximum|uniquement|m[áa]ximo|solo|massimo|apenas|maximaal|alleen)(?![\p{L}])/iu
/** "Variables get short names in this codebase": many things, a habit, and where it holds. */
const habit =
  /^["'(*_]*(?:\p{L}+ ){0,2}\p{L}+s (?:always |all |only )?(?:get|use|take|carry|follow|go|live|stay|keep|start|end|come|have|are)(?![\p{L}]).{3,80}(?:in|across|throughout|inside) (?:this|our|the (?:whole|entire)) (?:\p{L}+ )?(?:codebase|repo(?:sitory)?|project|team|document|report|app|company|house|chat|conversation)(?![\p{L}])/iu
/** "I would be glad if ...": thanks for something that is still to be done. */
const thanksAhead =
  /(?<![\p{L}])(?:agrade[çc]o se|agradecer[íi]a|ficaria (?:grat|feliz)|te estar[íi]a agradecid|(?:ti|le|vi) sarei grat\p{L}|(?:ti|la|vi) pregherei|apprezzerei|je (?:te|vous) serais (?:reconnaissant|gr[ée])|(?:w(?:ä|ae)re|bin) (?:dir |ihnen |dir sehr )?(?:dankbar|verbunden)|zou (?:het )?(?:fijn|prettig|op prijs)|by[łl](?:bym|abym) wdzi[ęe]czn\p{L}|был[а]? бы (?:рад|призна|благодар)\p{L}*|буду (?:рад|призна|благодар)\p{L}*|memnun olur\p{L}*|sevinirim|minnettar)/iu

/** Whether a sentence is built like an instruction. */
export function isBuiltAsInstruction(sentence: string): boolean {
  return (
    start.test(sentence) ||
    within.test(sentence) ||
    [everyCase, enough, dare, oneWay, norm, specification, habit, thanksAhead].some((form) =>
      form.test(sentence),
    )
  )
}

/** A question that asks for something: "could you ...?". */
const asks =
  /^(?:["'(*_]*)(?:\S+,? )?(?:(?:can|could|would|will) (?:you|we)|(?:would|do) you mind|kannst du|k(?:ö|oe)nntest du|k(?:ö|oe)nnen sie|w(?:ü|ue)rdest du|peux-tu|pourrais-tu|pouvez-vous|pourriez-vous|puedes|podr[íi]as|puede|puoi|potresti|pode(?:ria)?|voc[êe] pode|kun je|zou je|kan du|skulle du|можешь|мог(?:ла)? бы|можете|możesz|mógłbyś|můžeš|mohl bys)(?![\p{L}])/iu

/** Whether a question asks for a habit and not for an answer. */
export function isAskedFor(question: string): boolean {
  return asks.test(question) && lasting.test(question)
}

const lasting =
  /(?<![\p{L}])(?:always|never|throughout|everywhere|habit|all|any|each time|every time|from now|please (?:keep|stop|avoid|make)|keep|stop|avoid|before (?:a|any|every|each)|grunds(?:ä|ae)tzlich|immer|stets|jedes|in zukunft|toujours|chaque|[ée]vite|siempre|cada|evita|sempre|ogni|cada|altijd|steeds|telkens|alltid|varje|всегда|каждый|zawsze|każd\p{L}+|vždy)(?![\p{L}])/iu

/** A promise that reaches beyond the next step: it forbids, covers every case, or says how long. */
const lastingPromise =
  /(?<![\p{L}])(?:won['’]?t|will not|not .{1,60}any ?more|no longer|untouched|always|never|only|every|each|all|any|no \p{L}+|your (?:approval|permission|ok|consent)|from (?:here|now)|here on|nicht mehr|nie(?:mals)?|immer|kein\p{L}*|nur|jede\p{L}*|ab (?:jetzt|sofort)|ne .{1,40}(?:plus|jamais|pas)|toujours|chaque|nunca|siempre|cada|ya no|non .{1,40}(?:mai|pi[ùu])|sempre|ogni|n[ãa]o .{1,40}mais|altijd|nooit|niet meer|больше не|всегда|никогда|zawsze|nigdy)(?![\p{L}])/iu
const repeats =
  /^(?:["'(*_]*)(?:got it|understood|noted|ok(?:ay)?|alright|right|so|then|in that case|in other words|that means|if i (?:understand|understood|got)|let me (?:repeat|restate|recap)|to (?:confirm|summari[sz]e|be (?:clear|sure)|recap)|just to (?:be (?:sure|clear)|confirm)|your rule|i should|verstanden|alles klar|in ordnung|gut|dann|also|das hei(?:ß|ss)t|wenn ich|d['’]accord|compris|entendu|bien|donc|alors|si (?:je|j['’]ai)|entendido|de acuerdo|vale|entonces|o sea|si (?:lo )?entiendo|es decir|d['’]accordo|capito|quindi|allora|se (?:ho )?capi\p{L}*|entendi|certo|ent[ãa]o|ou seja|se (?:eu )?entendi|begrepen|akkoord|dus|als ik|понял\p{L}*|хорошо|значит|то есть|если я|rozumiem|dobrze|czyli|więc|anladım|tamam|yani)(?![\p{L}])/iu

/** Whether an assistant's sentence repeats a rule that the user may confirm. */
export function isRestatedRule(sentence: string): boolean {
  return repeats.test(sentence) && lastingPromise.test(sentence)
}
