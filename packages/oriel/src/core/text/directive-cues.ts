// The words by which people state standing instructions, in the languages they write: one row per language.

import { lazyPattern } from './lazy-pattern.ts'

/** Patterns of one language, as sources of regular expressions. Case does not matter. */
interface Cues {
  /** Says how long something holds: "from now on", "for the rest of this session". */
  readonly standing: string
  /** Allows no exception: "always", "never". */
  readonly absolute: string
  /** A preference, a prohibition, an obligation, or how to write answers. */
  readonly wish: string
  /** Asks to remember a text: "remember this for the whole session". */
  readonly pin: string
  /** Takes back or replaces something said before. */
  readonly change: string
  /** "Yes, exactly", at the start of an answer. */
  readonly yes: string
  /** The title of a list of instructions. */
  readonly title: string
  /** A story about the speaker or about a fact; "always" and "never" in it are no instruction. */
  readonly story: string
}

const english: Cues = {
  standing:
    "from (?:now|here|today|this point) (?:on(?:ward|wards)?|forward)|(?:going|moving) forward(?! with)|henceforth|hereafter|for the (?:rest|remainder|duration) of|(?:for|throughout|during) (?:the|this|our) (?:whole|entire|rest)|throughout (?:the|this|our)|(?:in|for|during) (?:this|our) (?:session|conversation|chat|thread)|until (?:i|we) (?:say|tell|change|ask)|unless (?:i|we) (?:say|tell|ask|state|explicitly)|unless (?:told|asked|stated|said|instructed|specified) otherwise|as a (?:general )?rule|in future|in the future,|every time (?:you|we)|each time you|whenever (?:you|we|i ask)|at all times|(?:in|across|for|throughout) (?:all|every|each|any)(?: of)?(?: (?:our|my|your|the|future|new))* (?:chats?|conversations?|threads?|sessions?)|(?:standing|ground|house|hard|golden) rules?|(?:my|our) (?:rule|convention|policy|preference)s? (?:is|are|for)|(?:keep|bear) in mind|do(?: not|n['’]?t) forget (?:that|to)|remember (?:that|to|this)|remember:|as (?:a )?standing (?:order|instruction)",
  absolute:
    'always|never|under no circumstances|in no case|at no (?:point|time)|no exceptions?|without exception',
  wish: "i(?:['’]d| would)? (?:really |strongly |much )?prefer|i(?:['’]d| would) rather (?:you|have|see)|i(?:['’]d| would) like you to (?:use|keep|write|answer|reply|stick|avoid)|i(?: do not| don['’]?t) (?:want|like) (?:you|any|to see|it when)|my preference|(?:must|should|may|can) (?:not|only|never|always)(?: be)?|mustn['’]?t|shouldn['’]?t (?:be|use|touch|change)|(?:each|every|all) .{1,60}? (?:must|should|has to|have to|needs? to)|you (?:must|are not allowed|may only|can only|have to|need to always)|(?:answer|reply|respond|speak|talk|write|explain)(?: to me| back| everything| it)?(?: only)? in [a-z]+|call me|address me|refer to me|use .{1,60}? (?:instead of|rather than|everywhere|throughout|exclusively|for (?:all|every|any|each))|keep to|(?:end|start|begin|finish|prefix|sign|mark|tag) (?:each|every|all|your)|keep (?:your|all|the|every|answers|replies|responses|explanations|it|things|commits?) .{0,30}?(?:short|brief|concise|simple|under|below|small|formal|minimal|to (?:a|one|two|three))|be (?:brief|concise|terse|formal|direct|polite)|ask (?:me )?(?:before|first)|get my (?:approval|permission|ok)",
  pin: "(?:remember|memorize|note|keep) (?:this|that|the following|these|it)(?: [a-z]+){0,4}? (?:for|throughout|during|until) (?:the|this|our|all|whole|entire|ever|later|i)|do(?: not|n['’]?t) (?:ever )?forget (?:this|that|the following)|pin (?:this|that)(?: message)?|keep (?:this|that|the following) in (?:mind|memory)",
  change:
    'instead|no longer|any ?more|changed my mind|change of plans?|new plan|never ?mind|actually|scrap (?:that|this|it)|on reflection|make (?:that|it) |forget (?:about |what|the|that|my)|scratch that|disregard|ignore (?:my|the|what) (?:earlier|previous|rule|i)|switch(?:ing)? (?:back )?to|rather than|from now on|again after all|you (?:can|may) (?:now )?.{0,40}? again|on second thou?ght|correction',
  yes: "yes|yep|yeah|yup|exactly|correct|right|that['’]?s (?:right|correct|it)|precisely|confirmed|agreed|perfect|sounds good|ok(?:ay)?|sure|please do|do that|absolutely",
  title:
    'rules?|guidelines?|conventions?|requirements?|preferences?|constraints?|standing (?:instructions?|orders?)|house style|ground rules',
  story:
    "(?:i|he|she|it|they|that|which|who|this|there|has|have|had|was|were|is|are|did|does|i['’]ve|i['’]m|it['’]s|['’]ve|i['’]d|been|you['’]ve|you|someone|nobody)(?: (?:have|had|has|was|also|just|just about|really|almost|can|could|will|would|did|am|is|are|were))? (?:always|never)|never ?mind|as always|like always|always (?:been|wanted|wondered|loved|liked|had)|never (?:been|had|seen|heard|received|got|works?|worked|knew)",
}

const german: Cues = {
  standing:
    'ab (?:jetzt|sofort|nun|heute)|von (?:jetzt|nun|heute) an|k(?:ü|ue)nftig|zuk(?:ü|ue)nftig|in (?:allen|jedem|jeder)(?: unserer| unseren| meiner| meinen)? (?:chats?|gespr(?:ä|ae)ch(?:en?)?|unterhaltung(?:en)?|sitzung(?:en)?)|in zukunft|fortan|f(?:ü|ue)r den rest|bis zum ende de[sr]|(?:in|w(?:ä|ae)hrend) (?:dieser|diesem|der ganzen|dem ganzen|der gesamten|dem gesamten) [\\p{L}]+|bis ich|solange ich nicht|es sei denn,? ich|au(?:ß|ss)er ich|grunds(?:ä|ae)tzlich|merke? dir|denke? (?:bitte )?(?:immer )?daran|vergiss nicht|jedes mal,? wenn|behalte? im kopf',
  absolute:
    'immer|stets|nie|niemals|nie wieder|auf keinen fall|unter keinen umst(?:ä|ae)nden|keinesfalls|ausnahmslos',
  wish: 'ich (?:bevorzuge|m(?:ö|oe)chte (?:keine?|nicht|lieber|nur|,? ?dass)|mag (?:lieber|keine)|will (?:keine?|nur|lieber|,? ?dass)|h(?:ä|ae)tte (?:gerne?|lieber))|mir (?:ist|w(?:ä|ae)re) .{0,30}lieber|bitte (?:keine?n?|nicht|nur|verwende|benutze|nutze|antworte|schreibe?|halte|achte|vermeide)|verwende|benutze|antworte|vermeide|achte darauf|stelle? sicher|du (?:sollst|musst|darfst)|sie (?:sollen|m(?:ü|ue)ssen|d(?:ü|ue)rfen)|darf(?:st)? (?:nicht|nur|keine?n?)|nenne? mich|duze|sieze|verzichte auf|h(?:ö|oe)r auf|schreibe? (?:alle|auf|in|nur|keine)|keine? [\\p{L}]+ (?:mehr|verwenden|benutzen|nutzen)|nur (?:noch )?(?:auf|in|mit)',
  pin: 'merke? dir (?:das|dies|folgendes|bitte)|behalte? (?:das|dies) (?:im|f(?:ü|ue)r)|vergiss (?:das|dies) nicht',
  change:
    'stattdessen|statt|anstatt|nicht mehr|nicht l(?:ä|ae)nger|doch (?:lieber|immer|wieder|besser)|vergiss (?:das|die|was|meine)|ab jetzt|ab sofort|von nun an|umgekehrt|wieder',
  yes: 'ja|genau|richtig|stimmt|korrekt|einverstanden|passt|perfekt|jawohl|gern(?:e)?|so ist es',
  title:
    'regeln?|vorgaben?|richtlinien?|konventionen|anforderungen|w(?:ü|ue)nsche|pr(?:ä|ae)ferenzen|vorlieben',
  story:
    'immer (?:noch|wieder|mehr|gr(?:ö|oe)(?:ß|ss)er|kleiner|weniger|schon)|noch nie|schon immer|wie immer|(?:ich|er|es|wir) (?:habe?|hat|bin|ist|war|waren|hatte)(?: [\\p{L}]+)? (?:immer|nie|niemals|stets)',
}

const french: Cues = {
  standing:
    "d[ée]sormais|dor[ée]navant|[àa] partir de maintenant|[àa] l['’]avenir|[àa] compter de|pour (?:le reste|toute la (?:dur[ée]e|suite|session|conversation))|pour la suite|jusqu['’][àa] la fin|pendant toute|(?:dans|durant|pendant) cette (?:session|conversation|discussion)|jusqu['’][àa] ce que je|sauf (?:si je|indication|avis) |retiens|souviens-toi|rappelle-toi|souvenez-vous|n['’]oublie(?:z)? pas|gardez? (?:en t[êe]te|[àa] l['’]esprit)|[àa] chaque fois que|par d[ée]faut",
  absolute:
    'toujours|jamais|en aucun cas|sous aucun pr[ée]texte|sans exception|syst[ée]matiquement',
  wish: "je (?:pr[ée]f[èe]re(?:rais)?|ne veux pas|veux que tu|voudrais que|souhaite que|n['’]aime pas|ne souhaite pas)|merci de (?:ne|toujours|r[ée]pondre|utiliser)|(?:n['’]utilise|ne (?:mets|fais|touche|modifie|supprime|change|r[ée]ponds|r[ée]dige|pousse|cr[ée]e|mentionne))(?:z|s)?|utilise(?:z)? (?:uniquement|seulement|plut[ôo]t|.{1,40} (?:au lieu|plut[ôo]t|partout|pour (?:tou|chaque)))|r[ée]pond(?:s|ez)|[ée]cri(?:s|vez) (?:en|tou|uniquement|des|les)|[ée]vite(?:z)?|uniquement|il faut|tu (?:dois|ne dois)|vous (?:devez|ne devez)|appelle(?:z)?-moi|tutoie(?:z)?(?:-moi)?|vouvoie(?:z)?(?:-moi)?|assure-toi|assurez-vous|veille(?:z)? [àa]|pas d['’e]e?",
  pin: "(?:retiens|note|retenez|notez|m[ée]morise(?:z)?) (?:bien )?(?:ceci|cela|[çc]a|ce qui suit)|(?:souviens-toi|souvenez-vous) de (?:ceci|cela|[çc]a)|n['’]oublie(?:z)? (?:pas|jamais) (?:ceci|cela|[çc]a)",
  change:
    "[àa] la place|au lieu de|plut[ôo]t|plus maintenant|ne .{1,30} plus|finalement|oublie(?:z)? (?:ce|la|le|ma|mes)|d[ée]sormais|dor[ée]navant|j['’]ai chang[ée] d['’]avis|[àa] nouveau",
  yes: "oui|exactement|c['’]est (?:[çc]a|exact|juste|bien [çc]a)|tout [àa] fait|d['’]accord|parfait|correct|absolument|voil[àa]",
  title: 'r[èe]gles?|consignes?|conventions?|exigences?|pr[ée]f[ée]rences?|contraintes?',
  story:
    "je (?:n['’]ai|l['’]ai|suis|n['’]y|ne suis|ne l['’]ai|ne re[çc]ois|ai)(?: [\\p{L}]+)? (?:jamais|toujours)|comme toujours|(?:est|sont|[ée]tait|marche|fonctionne|[çc]a) toujours|toujours (?:pas|en cours|la m[êe]me|rien|le m[êe]me)",
}

const spanish: Cues = {
  standing:
    'de ahora en adelante|a partir de (?:ahora|hoy|este momento)|desde ahora|en adelante|en lo sucesivo|de aqu[íi] en adelante|(?:por|durante) el resto de|(?:en|durante) (?:esta|toda (?:la|esta)) (?:sesi[óo]n|conversaci[óo]n|charla)|hasta que (?:yo )?(?:te )?(?:diga|avise|indique|pida)|a menos que (?:yo )?|salvo que (?:yo )?|recuerda|recuerde|ten en cuenta|tenga en cuenta|no olvides|no te olvides|cada vez que|por defecto|por norma|como regla',
  absolute:
    'siempre|nunca|jam[áa]s|en ning[úu]n caso|bajo ning[úu]n concepto|bajo ninguna circunstancia|sin excepci[óo]n',
  wish: '(?:yo )?prefiero|preferir[íi]a|(?:no )?(?:quiero|me gusta) que|no (?:uses?|utilices?|pongas?|hagas?|toques?|cambies?|modifiques?|borres?|incluyas?|a[ñn]adas?|escribas?|respondas?|menciones?|env[íi]es?|hables?)|usa(?:d)? (?:solo|s[óo]lo|[úu]nicamente|siempre|.{1,40} (?:en lugar|en vez|para (?:tod|cada)))|utiliza|responde(?:me|d)?|resp[óo]ndeme|cont[ée]stame|contesta|escribe|evita|debes|debe(?:n)? (?:ser|estar|usar|ir)|tienes que|no debes|aseg[úu]rate|procura|solo (?:usa|en)|s[óo]lo|ll[áa]mame|tut[ée]ame|h[áa]blame|por favor,? no',
  pin: '(?:recuerda|recuerde|anota|memoriza|guarda) (?:esto|eso|lo siguiente)|no (?:olvides|te olvides de) (?:esto|eso)',
  change:
    'en lugar de|en vez de|en cambio|mejor|cambio de planes|ya no|olvida (?:lo|la|eso|mi)|he cambiado de (?:idea|opini[óo]n)|cambi[ée] de (?:idea|opini[óo]n)|de ahora en adelante|a partir de ahora|de nuevo',
  yes: 's[íi]|exacto|exactamente|correcto|eso es|as[íi] es|de acuerdo|perfecto|vale|claro|por supuesto',
  title: 'reglas?|normas?|pautas|convenciones|requisitos|preferencias|instrucciones permanentes',
  story:
    '(?:yo )?(?:siempre|nunca|jam[áa]s) (?:he|ha|hab[íi]a|me|hemos|tuve|fui|recib[íi])|(?:he|ha|como|desde) siempre|casi (?:siempre|nunca)|lo de siempre',
}

const italian: Cues = {
  standing:
    "d['’]ora in (?:poi|avanti)|da (?:ora|adesso|oggi|questo momento) in (?:poi|avanti)|in futuro|per il resto d|(?:in|durante|per) (?:questa|tutta (?:la|questa)) (?:sessione|conversazione|chat)|finch[ée] non (?:ti )?(?:dico|lo dico)|a meno che (?:io )?(?:non )?|salvo (?:diversa|mia)|ricorda(?:ti|te)?|tieni (?:presente|a mente)|non dimenticare|ogni volta che|di default|come regola",
  absolute:
    'sempre|non .{1,60}? mai|mai|in nessun caso|per nessun motivo|senza eccezioni|assolutamente non',
  wish: '(?:io )?preferisco|preferirei|(?:non )?(?:voglio|vorrei|mi piace) che|non (?:usare|utilizzare|mettere|fare|toccare|modificare|cancellare|eliminare|aggiungere|scrivere|rispondere|inviare|cambiare|menzionare)|usa (?:solo|soltanto|sempre|.{1,40} (?:invece|al posto|anzich[ée]|per (?:tutt|ogni)))|utilizza|rispondi(?:mi)?|scrivi|evita|devi|deve (?:essere|usare)|devono|non devi|assicurati|solo in|soltanto|chiamami|dammi del|per favore,? non',
  pin: '(?:ricorda|ricordati|annota|memorizza|tieni a mente) (?:questo|quello|ci[òo]|quanto segue)|non dimenticare (?:questo|ci[òo])',
  change:
    "invece|al posto di|anzich[ée]|piuttosto|non .{1,30} pi[ùu]|dimentica (?:quello|la|il|ci[òo])|ho cambiato idea|d['’]ora in (?:poi|avanti)|di nuovo",
  yes: "s[ìi]|esatto|esattamente|corretto|giusto|d['’]accordo|perfetto|va bene|certo|proprio cos[ìi]",
  title: 'regole?|linee guida|convenzioni|requisiti|preferenze|vincoli',
  story:
    '(?:non )?(?:ho|ha|sono|[èe]|era|avevo|abbiamo)(?: [\\p{L}]+)? (?:mai|sempre)|come sempre|da sempre|quasi (?:mai|sempre)|sempre (?:pi[ùu]|meno|lo stesso)|(?:caso|pi[ùu] che) mai|mai (?:visto|avuto|stato|ricevuto)',
}

const portuguese: Cues = {
  standing:
    'de agora em diante|daqui (?:em|para a?) (?:diante|frente)|a partir de (?:agora|hoje|este momento)|doravante|no futuro|pelo resto d|(?:n|durante )est[ae] (?:sess[ãa]o|conversa|chat)|(?:em|durante) toda (?:a|esta) (?:sess[ãa]o|conversa)|at[ée] (?:que )?eu (?:diga|dizer|pedir|avisar)|a menos que eu|salvo se eu|lembre(?:-se)?|lembra(?:-te)?|tenha em mente|n[ãa]o (?:se )?esque[çc]a|n[ãa]o te esque[çc]as|toda vez que|sempre que|por padr[ãa]o|como regra',
  absolute: 'sempre|nunca|jamais|em hip[óo]tese alguma|em nenhum caso|sem exce[çc][ãa]o',
  wish: '(?:eu )?prefiro|preferiria|(?:n[ãa]o )?(?:quero|gosto) que|n[ãa]o (?:use|utilize|coloque|fa[çc]a|toque|altere|modifique|apague|remova|adicione|inclua|escreva|responda|envie|mude|mencione|fale)s?|use (?:apenas|s[óo]|somente|sempre|.{1,40} (?:em vez|ao inv[ée]s|para (?:tod|cada)))|utilize|responda|escreva|evite|voc[êe] (?:deve|n[ãa]o deve|tem que)|deve(?:m)? (?:ser|estar|usar)|certifique-se|garanta|apenas em|somente|me chame|chame-me|chama-me|trate-me|por favor,? n[ãa]o',
  pin: '(?:lembre-se|lembra-te|anote|memorize|guarde|grave) (?:disto|disso|isto|isso|o seguinte)|n[ãa]o (?:se )?esque[çc]a (?:disto|disso)',
  change:
    'em vez d|ao inv[ée]s d|no lugar d|n[ãa]o .{1,30} mais|j[áa] n[ãa]o|esque[çc]a (?:o|a|isso|minha)|mudei de ideia|de agora em diante|a partir de agora|de novo',
  yes: 'sim|exato|exatamente|correto|certo|isso (?:mesmo)?|de acordo|perfeito|claro|combinado|est[áa] bem',
  title: 'regras?|diretrizes|conven[çc][õo]es|requisitos|prefer[êe]ncias|normas',
  story:
    '(?:eu )?(?:sempre|nunca|jamais) (?:tive|foi|fui|recebi|vi|tinha|consegui)|como sempre|desde sempre|quase (?:sempre|nunca)|(?:est[áa]|[ée]|era) sempre',
}

const dutch: Cues = {
  standing:
    'vanaf (?:nu|vandaag|heden)|van nu af aan|voortaan|in het vervolg|in de toekomst|voor de rest van|de rest van (?:dit|deze|het|de)|(?:in|tijdens|gedurende) (?:deze|dit|de hele|het hele) (?:sessie|gesprek|chat|project)|totdat ik|tot ik|tenzij ik|onthoud|vergeet niet|houd? (?:er )?rekening|houd in gedachten|elke keer (?:als|dat|wanneer)|standaard',
  absolute:
    'altijd|nooit|in geen geval|onder geen (?:beding|enkele voorwaarde|omstandigheden)|zonder uitzondering|nimmer',
  wish: 'ik (?:heb (?:liever|graag)|wil (?:liever|geen|niet|dat|alleen)|geef de voorkeur|zou (?:liever|graag)|hou niet)|mijn voorkeur|gebruik|antwoord|schrijf|vermijd|zorg (?:ervoor|dat)|je (?:moet|mag)|u (?:moet|mag)|mag (?:niet|geen|alleen)|moet(?:en)? (?:altijd|in|op|worden|zijn)|noem me|noem mij|spreek me|stop met|doe geen|alsjeblieft (?:geen|niet)|graag (?:geen|alleen|in het)|geen [\\p{L}]+ (?:gebruiken|meer|toevoegen)|alleen (?:in|met)',
  pin: 'onthoud (?:dit|dat|het volgende)|vergeet (?:dit|dat) niet|noteer (?:dit|dat)',
  change:
    'in plaats (?:van|daarvan)|niet (?:meer|langer)|toch liever|vergeet (?:wat|de|mijn|dat)|van gedachten veranderd|voortaan|vanaf nu|weer',
  yes: 'ja|precies|klopt|juist|correct|inderdaad|akkoord|perfect|prima|goed zo|oké|oke|zeker',
  title: 'regels?|richtlijnen|afspraken|conventies|voorkeuren|eisen',
  story:
    '(?:ik|hij|het|we) (?:heb|heeft|ben|is|was|had|hebben)(?: [\\p{L}]+)? (?:altijd|nooit)|nog (?:altijd|nooit)|zoals altijd|bijna (?:altijd|nooit)',
}

const russian: Cues = {
  standing:
    'с этого момента|с (?:сегодняшнего|настоящего) (?:дня|момента)|отныне|впредь|в дальнейшем|на будущее|до конца (?:сессии|сеанса|разговора|чата|беседы|диалога|проекта)|в (?:этой|этом|рамках этого|рамках этой) (?:сессии|сеансе|разговоре|чате|беседе|диалоге|проекте)|на протяжении|в течение (?:всей|всего)|(?:до тех пор,? )?пока я не|если я не (?:скажу|попрошу)|запомни(?:те)?|помни(?:те)?|имей(?:те)? в виду|учти(?:те)?|не забывай(?:те)?|каждый раз,?|по умолчанию|во всех (?:ответах|файлах|сообщениях)',
  absolute:
    'всегда|никогда|ни в коем случае|ни при каких (?:обстоятельствах|условиях)|обязательно|без исключений|строго',
  wish: 'я (?:предпочитаю|предпоч[её]л|предпочла|хочу,? чтобы|хотел бы|хотела бы|не хочу|не люблю)|мне (?:больше нравится|нравится|удобнее)|пожалуйста,? не|не (?:используй|пиши|делай|добавляй|меняй|изменяй|удаляй|трогай|применяй|отвечай|упоминай|отправляй|ставь)(?:те)?|используй(?:те)?|отвечай(?:те)?|пиши(?:те)?|избегай(?:те)?|только (?:на|в|через)|ты должен|вы должны|должн[аоы]? быть|нельзя|зови(?:те)? меня|называй(?:те)? меня|говори(?:те)?|следи(?:те)?|убедись|обращайся|обращайтесь',
  pin: '(?:запомни|запомните|запиши|запишите) (?:это|следующее)|не забывай(?:те)? (?:это|об этом)',
  change:
    'вместо|больше не|уже не|забудь(?:те)? (?:о|про|что)|лучше|передумал[аи]?|с этого момента|отныне|теперь|снова',
  yes: 'да|точно|верно|правильно|именно|согласен|согласна|идеально|хорошо|конечно|так и есть',
  title: 'правила?|требования|предпочтения|соглашения|рекомендации|условия',
  story:
    'я (?:всегда|никогда)|(?:как|почти) всегда|никогда не (?:было|был|была|видел|видела|получал|получала|работал\\p{L}*)|не всегда',
}

const polish: Cues = {
  standing:
    'od (?:teraz|dzisiaj|dziś|tej (?:pory|chwili)|tego momentu)|odtąd|w przyszłości|na przyszłość|do końca (?:tej|tego|sesji|rozmowy|czatu|projektu)|przez (?:resztę|całą|cały)|(?:w|podczas) (?:tej|tym|całej) (?:sesji|rozmowie|rozmowy|czacie|projekcie)|dopóki (?:nie|ci nie)|aż (?:powiem|poproszę)|chyba że|pamiętaj(?:cie)?|zapamiętaj|miej na uwadze|nie zapomnij|nie zapominaj|za każdym razem|domyślnie',
  absolute:
    'zawsze|nigdy|pod żadnym pozorem|w żadnym (?:wypadku|razie)|bez wyjątku|bezwzględnie|koniecznie',
  wish: 'wolę|wolał(?:a)?bym|preferuję|nie (?:chcę|lubię|używaj|pisz|rób|dodawaj|zmieniaj|usuwaj|ruszaj|dotykaj|odpowiadaj|wspominaj|wysyłaj|stosuj)|chcę,? żebyś|używaj|odpowiadaj|odpowiedz|pisz|unikaj|stosuj|upewnij się|tylko (?:po|w|na)|musisz|nie wolno|powin(?:no|ny|ien|na|ieneś)|nazywaj mnie|mów (?:do mnie|mi|po)|zwracaj się|proszę,? nie|wyłącznie',
  pin: 'zapamiętaj (?:to|sobie|następujące)|pamiętaj (?:to|o tym)|zanotuj (?:to|sobie)|nie zapomnij (?:tego|o tym)',
  change:
    'zamiast|już nie|nie .{1,30} więcej|zapomnij o|jednak|zmienił[ea]m zdanie|od teraz|teraz|znowu|ponownie',
  yes: 'tak|dokładnie|zgadza się|racja|zgoda|właśnie|dobrze|świetnie|jasne|oczywiście',
  title: 'zasad[ay]|reguł[ay]|wytyczne|konwencje|wymagania|preferencje',
  story:
    'ja (?:zawsze|nigdy)|jak zawsze|prawie (?:zawsze|nigdy)|nie zawsze|nigdy (?:nie )?(?:był[ao]?|miał[ae]?m|widział[ae]?m|dostał[ae]?m|działał[ao]?)',
}

const turkish: Cues = {
  standing:
    'bundan (?:sonra|böyle)|şu andan itibaren|bu andan itibaren|artık|bugünden itibaren|gelecekte|ileride|(?:bu )?(?:oturum|sohbet|konuşma|görüşme|proje)(?:nun|nin|ın|un)? (?:boyunca|sonuna kadar|süresince|geri kalanında)|bu (?:oturumda|sohbette|konuşmada|projede)|ben (?:söyleyene|aksini söyleyene|diyene) kadar|aksini (?:söylemedikçe|belirtmedikçe)|aksi belirtilmedikçe|unutma(?:yın)?|aklında tut|hatırla|her seferinde|varsayılan olarak',
  absolute:
    'her zaman|daima|hep|asla|hiçbir (?:zaman|koşulda|şekilde|durumda)|kesinlikle|mutlaka|istisnasız|sakın',
  wish: 'tercih ederim|tercihim|istemiyorum|istiyorum ki|lütfen (?:sadece|yalnızca|\\p{L}+(?:ma|me)(?:yın|yin)?)|\\p{L}+(?:ma|me)(?:yın|yin|yınız|yiniz)|(?:kullan|ekle|yaz|değiştir|sil|dokun|yap|gönder|bahset)(?:ma|me)|(?:sadece|yalnızca) .{1,60}(?:kullan|yaz|cevap|yanıt|konuş)|(?:cevap|yanıt) ver|yanıtla|cevapla|kullanmalısın|olmalı(?:dır)?|gerekir|zorunlu|kaçın|bana .{1,30} (?:de|diye hitap et)|kullan|yaz',
  pin: '(?:bunu|şunu|bunları|aşağıdakini) (?:\\p{L}+ ){0,4}?(?:hatırla|unutma|aklında tut|not et)',
  change:
    'yerine|artık|bundan sonra|bundan böyle|vazgeçtim|fikrimi değiştirdim|unut|iptal|tekrar|yeniden',
  yes: 'evet|aynen|doğru|kesinlikle|tam olarak|tamam|mükemmel|elbette|tabii|olur',
  title: 'kurallar?|kural|yönergeler?|tercihler(?:im)?|gereksinimler|koşullar',
  story:
    'ben (?:her zaman|hep|hiç|asla)|her zamanki|hep(?:si|imiz|iniz)|hiç .{1,30}(?:dım|dim|dum|düm|madım|medim)',
}

const chinese: Cues = {
  standing:
    '[从從](?:现在|現在|今天|今|此)(?:开始|開始|起|以后|以後|往后|往後)|今[后後]|以[后後](?![的]?[^，。]{0,4}(?:再说|再說))|往[后後]|接下来(?:的)?(?:所有|每)|接下來(?:的)?(?:所有|每)|在?(?:本|[这這]|此)次?个?個?(?:会话|會話|对话|對話|聊天|项目|專案)|整[个個](?:会话|會話|对话|對話|聊天|项目|專案|过程|過程)|[记記]住|牢[记記]|除非我|直到我|每次|每[当當]|默认|預設|不要忘[记記]|[别別]忘',
  absolute:
    '[总總]是|始[终終]|一律|永[远遠]|[务務]必|必[须須]|[绝絕](?:不|对不|對不)|千万|千萬|[从從]不|切勿|不得|禁止|[严嚴]禁|无论如何|無論如何|不管怎样',
  wish: '我(?:更)?(?:喜[欢歡]|偏好|[倾傾]向|希望[你您]|想[让讓]你|不喜[欢歡]|不希望|不想(?:要|看))|[请請](?:不要|勿|[别別]|只|用|使用|保持|避免|[确確]保|[统統]一)|不要|[别別](?:再|用|使|改|动|動|删|刪)|只(?:用|能|使用|准)|避免|[尽盡]量|叫我|[称稱]呼我|[用以].{1,8}(?:回答|回[复復覆]|[写寫]|[说說])|不能|不可以|不准|不[许許]',
  pin: '[请請]?(?:[记記]住|牢[记記]|[记記]下)(?:[这這]|以下|下面|此|上述)|不要忘[记記](?:[这這]|此)',
  change:
    '改一下|改成|[换換]成|改[用为為成]|而不是|不再|不用再|取消|忘[掉记記](?:之前|前面|[刚剛]才|我)|[换換]成|[换換]用|改主意|[从從]现在|[从從]現在|代替|重新',
  yes: '是的|[对對]的?|没错|沒錯|正[确確]|好的?|可以|同意|[确確][认認]|就[这這][样樣]|嗯',
  title: '[规規][则則]|要求|偏好|[约約]定|[规規]范|[规規]範|注意事[项項]|准[则則]',
  story: '我(?:[总總]是|[从從]不|[从從]来|[从從]來|一直)|[从從][来來]没|必[须須](?:承认|承認)',
}

const japanese: Cues = {
  standing:
    '今後|これから(?:は|ずっと|の)?|以後|以降|この(?:セッション|会話|チャット|プロジェクト|スレッド)|セッション(?:中|全体|を通し)|今から|次回から|(?:覚え|記憶し)て(?:おいて|ください|下さい|ね)|忘れないで|(?:指示|言う|言い)(?:する|い)?まで|特に指示が?ない限り|毎回|基本的に|デフォルト|今日から',
  absolute: '常に|いつも|必ず|絶対に?|決して|一切|例外なく|いかなる',
  wish: 'ないで(?:ください|下さい|くれ|ね|ほしい|欲しい)|(?:わ|か|さ|た|な|ま|ら|が|し|れ|べ|え|け|せ|て|め|げ)ないこと|ないように|(?:て|で)はいけ(?:ません|ない)|禁止|ようにして|(?:方|ほう)が(?:いい|良い|好き|好み)|好みます|好みです|が好き|を好む|避けて|やめて|語で(?:答|返|回答|書|話|お願い)|と呼んで|だけ(?:を)?使|のみ(?:を)?使|してほしい|して欲しい|に統一|使って(?:ください|下さい)|で書いて|必須',
  pin: '(?:これ|それ|以下|次のこと|このこと)(?:を|は)?.{0,12}(?:覚えて|記憶して|忘れないで)',
  change:
    '代わりに|ではなく|じゃなくて|やっぱり|やはり|もう.{0,12}(?:ない|いらない|不要)|取り消|撤回|変更|に変えて|今後は|これからは',
  yes: 'はい|そうです|その通り|そのとおり|正解|合って|了解|お願いします|ええ|うん|完璧|大丈夫',
  title: 'ルール|規則|規約|方針|要件|好み|ガイドライン|約束事|注意事項',
  story:
    '(?:私|僕|俺|自分)は(?:いつも|常に|必ず)|いつもの|いつもありがとう|いつもお世話|絶対値|必ずしも',
}

const korean: Cues = {
  standing:
    '앞으로는?|이제부터는?|지금부터는?|이후로|향후|오늘부터|(?:이번?|본) ?(?:세션|대화|채팅|프로젝트)|(?:세션|대화|채팅|프로젝트)(?:가)? ?(?:내내|동안|끝날)|기억해|잊지 ?마|말할 때까지|별도(?:의)? (?:지시|언급)|매번|기본적으로',
  absolute: '항상|언제나|절대로?|결코|반드시|꼭|무조건|예외 ?없이',
  wish: '지 ?마(?:세요|십시오|라|요|시오)?|지 ?말(?:아|고|것)|하면 안|면 안 ?[돼되됩]|선호(?:해|합|하)|(?:게|걸|것을|것이|이|가) (?:더 )?좋아|싫어|만 (?:사용|써|쓰)|(?:로|으로)만|(?:로|으로) (?:답|대답|답변|작성|말)해|피해 ?주|자제|라고 불러|사용해 ?(?:주세요|줘|주십시오)|해야 (?:합니다|해|한다|돼)|금지',
  pin: '(?:이것|이거|그것|다음|이 내용)(?:을|를|은|는)? ?.{0,16}(?:기억해|잊지 ?마)',
  change: '대신|말고|더 이상|이제는|취소|바꿔|변경|잊어|앞으로는?|이제부터는?|다시',
  yes: '네|예|맞아|맞습니다|그렇습니다|그래|정확|좋아|알겠|물론|응',
  title: '규칙|지침|요구 ?사항|선호 ?사항|원칙|가이드라인|약속',
  story: '(?:저는|나는|제가|내가) (?:항상|언제나|절대)|항상 감사|꼭지',
}

const spaced = [
  english,
  german,
  french,
  spanish,
  italian,
  portuguese,
  dutch,
  russian,
  polish,
  turkish,
] as const
const unspaced = [chinese, japanese, korean] as const

/** One expression for a kind of cue in all languages. Languages without spaces have no word edges. */
function all(kind: keyof Cues, { isAtStart = false } = {}): RegExp {
  const words = spaced.map((cues) => cues[kind]).join('|')
  const signs = unspaced.map((cues) => cues[kind]).join('|')
  const edged = `(?<![\\p{L}\\p{N}])(?:${words})(?![\\p{L}\\p{N}])`
  return new RegExp(isAtStart ? `^(?:${edged}|(?:${signs}))` : `${edged}|${signs}`, 'iu')
}

export const standing = /* @__PURE__ */ lazyPattern(() => all('standing'))
export const absolute = /* @__PURE__ */ lazyPattern(() => all('absolute'))
export const wish = /* @__PURE__ */ lazyPattern(() => all('wish'))

/** Says that something is to hold beyond this conversation: "in all our chats". */
export const everywhere =
  /(?:in|across|for|throughout) (?:all|every|each|any)(?: of)?(?: (?:our|my|your|the|future|new))* (?:chats?|conversations?|threads?|sessions?)\b|in (?:allen|jedem|jeder)(?: unserer| unseren| meiner| meinen)? (?:chats?|gespr(?:ä|ae)ch(?:en?)?|unterhaltung(?:en)?|sitzung(?:en)?)|dans (?:toutes? |chacune de )?(?:nos|mes|les|chaque) (?:conversations?|discussions?|chats?)|en todas? (?:nuestras|mis|las) (?:conversaciones|charlas)|in tutte le (?:nostre |mie )?(?:conversazioni|chat)/iu
export const pin = /* @__PURE__ */ lazyPattern(() => all('pin'))
export const change = /* @__PURE__ */ lazyPattern(() => all('change'))
export const story = /* @__PURE__ */ lazyPattern(() => all('story'))
export const title = /* @__PURE__ */ lazyPattern(() => all('title'))
/** Allows something, perhaps what was forbidden: "you can open it without asking me now". */
export const permission =
  /^(?:["'(*_]*)(?:\p{L}+[,:]? )?(?:(?:you|we) (?:can|may) |feel free to |go ahead and |it(?:['’]s| is) (?:ok|okay|fine|alright) (?:to|if you) |du (?:darfst|kannst) |sie (?:d(?:ü|ue)rfen|k(?:ö|oe)nnen) |tu peux |vous pouvez |(?:ya )?puedes? |(?:ora )?puoi |(?:j[áa] )?(?:voc[êe] )?pode[s]? |je mag |du (?:f[åa]r|må|kan) |(?:teraz |już )?możesz |(?:теперь )?(?:ты )?можешь |(?:тепер )?можеш )|(?:现在|現在)?可以|てもいい|ても大丈夫|해도 (?:돼|됩니다|괜찮)/iu
/** Takes something back without saying what holds instead: "forget what I said about ...". */
export const retraction =
  /(?<![\p{L}])(?:forget (?:about|(?:what|everything|all) (?:i|we) (?:said|told|wrote|asked)|(?:the|my|that) (?:rule|request|instruction|thing))|(?:ignore|disregard|scrap|drop) (?:what i (?:said|told|asked)|(?:my|the) (?:earlier|previous|last|rule|request|instruction))|never ?mind (?:what|about|the|my)|you (?:no longer|don['’]?t) (?:need|have) to|vergiss,? (?:was ich|die regel|meine)|oublie(?:z)? (?:ce que j['’]ai|ma |la r[èe]gle)|olvida (?:lo que (?:te )?(?:dije|ped[íi])|la regla|mi )|dimentica (?:quello che|ci[òo] che|la regola)|esque[çc]a (?:o que (?:eu )?(?:disse|pedi)|a regra)|vergeet wat ik|zapomnij o|забудь(?:те)?(?: про| о|,? что)|забудь, що|unut(?:un)? )|忘了(?:我|之前)|忘掉我|忘れて|잊어/iu
export const yes = /* @__PURE__ */ lazyPattern(() => all('yes', { isAtStart: true }))

/** English imperatives at the start of a sentence: most say what to do now, these how to work. */
export const imperative =
  /^(?:(?:please|also|and|but|so|oh|ok(?:ay)?|btw|by the way|one more thing|again|remember|note|important|however|instead|actually|just)[,:]? +)*(?:(?:do not|don['’]?t) (?!worry|mind|know|think|have|see|need|care|understand|bother|hesitate|get me wrong|you\b|i\b|we\b|they\b|forget about)|no more |stop |avoid |refrain from |only (?:use|write|answer|reply|run|touch|change|edit|import|add|ask|do|show|give|send|commit|deploy|call)\b|stick to |stick with |prefer |make sure (?:to|that|you|every|all|not|no)\b|be sure to |ensure (?:that|all|every)\b|no (?!problem|worries|thanks|thank|need|idea|way|one|wait|longer|luck|other|further|additional|changes?|more|matter|rush|i\b|that|it\b|this|you\b|the\b|not\b|but\b|sorry)[a-z-]+(?: [a-z-]+){0,5}[.!]?$|(?:add|include|put|write|format|name|give|show|quote|cite|use|run|check|wrap|sort|round|spell|print|list|log|store|keep|commit|test|document|explain)\b.{0,80}\b(?:each|every|everything|everywhere|throughout|by default)\b)/i

/** An English sentence that says how to write or work; a directive where it names one of the `topics`. */
export const manner =
  /^(?:(?:please|also|and|but|so|ok(?:ay)?|actually|just)[,:]? +)*(?:use|write|keep|answer|reply|respond|format|show|give|put|run|speak|explain|name|comment|document)\b/i

/** A question that asks for a habit: "could you always ...?". */
export const request =
  /^(?:please |and |also |ok(?:ay)?,? )?(?:can|could|would|will) (?:you|we)(?: please)? (?:always|never|stop|not|only|keep|avoid|answer|reply|respond)\b/i

/** A sentence that continues with the one before it. */
export const continuation =
  /^(?:this|that|it|these|those) (?:applies|apply|holds|includes?|goes|means|also)\b|^(?:except|unless|including|even if|not even|no exceptions?|otherwise|without exception)\b/i

/** How an assistant restates what the user wants. */
export const restatement =
  /\b(?:i(?:['’]ll| will| am going to|['’]m going to)|we(?:['’]ll| will)|you(?:['’]d| would)? (?:want|prefer|like)|to confirm|understood|noted|got it)\b|\b(?:ich werde|ich verwende|ich antworte|verstanden|notiert)\b|(?:\bje vais|\bcompris|\bnot[ée]|\bj['’]utiliserai|\bje r[ée]pondrai)|\b(?:entendido|usar[ée]|responder[ée]|voy a|capito|user[òo]|risponder[òo]|vou|usarei|responderei|begrepen|ik zal|ik gebruik)\b|(?:понял|буду|rozumiem|będę|anladım|anlaşıldı|ım\b|im\b|明白|我会|我將|我将|了解|承知|します|しました|알겠|하겠)/iu

/** Subjects on which a new instruction replaces an older one, in any of the languages. */
export const topics: Readonly<Record<string, RegExp>> = {
  language:
    /\b(?:english|german|french|spanish|italian|portuguese|dutch|russian|polish|turkish|chinese|japanese|korean|englisch|deutsch|franz[öo]sisch|spanisch|italienisch|anglais|allemand|fran[çc]ais|espagnol|italien|ingl[ée]s|alem[áa]n|franc[ée]s|espa[ñn]ol|inglese|tedesco|francese|spagnolo|italiano|alem[ãa]o|portugu[êe]s|engels|duits|frans|nederlands|ingilizce|almanca|frans[ıi]zca|t[üu]rk[çc]e)\b|по-(?:английски|русски|немецки|французски)|(?:английск|русск|немецк|французск)|po (?:angielsku|polsku|niemiecku|francusku)|[英德法中日韩韓]文|[英德法日]语|[英德法日]語|中文|日本語|フランス語|ドイツ語|韓国語|영어|한국어|독일어|일본어|프랑스어/iu,
  indentation:
    /\b(?:tabs?|spaces|indent\p{L}*|leerzeichen|tabulator\p{L}*|einr[üu]ck\p{L}*|espaces|tabulations?|espacios|tabulaci[óo]n\p{L}*|spazi|tabulazion\p{L}*|espa[çc]os|spaties|sekme|boşluk)\b|пробел|табуляц|отступ|spacj|tabulator|wcięci|缩进|縮排|空格|制表符|タブ|スペース|インデント|탭|공백|들여쓰기/iu,
  units:
    /\b(?:metric|imperial|celsius|fahrenheit|kilomet\p{L}*|miles?|metrisch\p{L}*|m[ée]triqu\p{L}*|m[ée]tric\p{L}*)\b|метрич|公制|英制|メートル法|미터법/iu,
  length:
    /\b(?:short|shorter|brief|concise|terse|detailed|verbose|lengthy|kurz\p{L}*|knapp\p{L}*|ausf[üu]hrlich\p{L}*|courte?s?|bref|brève|d[ée]taill\p{L}*|corto|breve|conciso|detallad\p{L}*|kort|uitgebreid)\b|кратк|подробн|krótk|szczegółow|kısa|ayrıntılı|简短|簡短|简洁|详细|詳細|簡潔|短く|詳しく|간단|간결|자세/iu,
  emoji: /emojis?|emoticons?|эмодзи|表情符号|绘文字|絵文字|이모지/iu,
  quotes:
    /\b(?:single|double)[- ]quot\p{L}*|anf[üu]hrungszeichen|guillemets|comillas|单引号|双引号/iu,
  semicolons: /\bsemicolons?|semikolon|point-virgule|punto y coma|分号|セミコロン|세미콜론/iu,
  name: /\b(?:call|address) me\b|nenne? mich|appelle(?:z)?-moi|ll[áa]mame|chiamami|me chame|chame-me|noem m(?:e|ij)|(?:зови|называй)(?:те)? меня|nazywaj mnie|叫我|称呼我|と呼んで|라고 불러/iu,
  currency:
    /\b(?:euros?|dollars?|usd|eur|gbp|pounds?|yen)\b|евро|доллар|欧元|美元|ユーロ|ドル|유로|달러/iu,
  packages: /\b(?:npm|yarn|pnpm|bun)\b/iu,
  tests: /\b(?:jest|vitest|mocha|pytest|unittest)\b/iu,
  clock: /\b(?:12|24)[- ]?(?:hours?|h|stunden|heures|horas)\b|24小时|12小时/iu,
}
