// Token estimate for non-Latin scripts: alphabets per word, Chinese and Japanese per character.

import { kindOf, kinds } from './character-kind.ts'

// Measured in translated messages, manuals and tutorials of a Debian system, and in prose and
// technical texts. Prose is cheaper than messages; the numbers lie between the two.

/** Position in the text, and the tokens counted so far. */
export interface Cursor {
  readonly text: string
  /** The first character not yet counted. */
  index: number
  tokens: number
}

interface Script {
  /** Letters covered by the first token. */
  readonly free: number
  readonly perLetter: number
  /** Letters that merge less: rare ones, or those of languages with less weight in o200k. */
  readonly isCostly: (code: number) => boolean
  /** Additional cost of each. */
  readonly perCostly: number
}

const evenly = { isCostly: () => false, perCostly: 0 }

const scripts: Readonly<Record<number, Script>> = {
  [kinds.hangul]: {
    free: 1.2,
    perLetter: 0.46,
    isCostly: (code) => isMergingSyllable[code - firstSyllable] === 0,
    perCostly: 0.5,
  },
  // Ukrainian, Belarusian, Serbian and Kazakh, beside Russian.
  [kinds.cyrillic]: {
    free: 2,
    perLetter: 0.155,
    isCostly: (code) => code > 0x451,
    perCostly: 0.65,
  },
  [kinds.greek]: { free: 2.3, perLetter: 0.4, ...evenly },
  // Persian and Urdu, beside Arabic.
  [kinds.arabic]: { free: 1.7, perLetter: 0.25, isCostly: (code) => code >= 0x670, perCostly: 0.2 },
  [kinds.hebrew]: { free: 1.4, perLetter: 0.37, ...evenly },
  [kinds.thai]: { free: -0.4, perLetter: 0.38, ...evenly },
  [kinds.indic]: { free: 2.2, perLetter: 0.3, ...evenly },
  // Georgian, Armenian, Khmer, Burmese.
  [kinds.otherScript]: { free: 1.5, perLetter: 0.45, ...evenly },
}
/** Scripts that o200k covers only partly: Ethiopic, Yi, rare ideographs. */
const rareScript: Script = { free: 0.5, perLetter: 2, ...evenly }

/** Counts one word of a non-Latin alphabet. */
export function readScript(cursor: Cursor, kind: number): void {
  const { free, perLetter, isCostly, perCostly } = scripts[kind] ?? rareScript
  const { text } = cursor
  let index = cursor.index
  let costly = 0
  let repeated = 0
  for (; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (kindOf(code) !== kind) break
    if (isThird(text, index)) repeated++
    else if (isCostly(code)) costly++
  }
  const letters = index - cursor.index - repeated
  cursor.tokens += 1 + Math.max(0, letters - free) * perLetter
  cursor.tokens += costly * perCostly + repeated
  cursor.index = index
}

const kanaTokens = 0.62
/** An ideograph of `mergingIdeographs`: half of the time it is part of a longer token. */
const mergingTokens = 0.61
/** Additional cost beside kana: o200k has fewer Japanese compounds. */
const besideKanaTokens = 0.22
/** Any other ideograph: one token if o200k has it, else two or three. */
const otherIdeographTokens = 1.4

/** Counts a run of Chinese or Japanese characters. */
export function readIdeographs(cursor: Cursor): void {
  const { text } = cursor
  let index = cursor.index
  let kana = 0
  let merging = 0
  let others = 0
  let repeated = 0
  for (; index < text.length; index++) {
    const code = text.charCodeAt(index)
    const kind = kindOf(code)
    if (kind !== kinds.kana && kind !== kinds.ideograph) break
    if (isThird(text, index)) repeated++
    else if (kind === kinds.kana) kana++
    else if (isMergingIdeograph[code - firstIdeograph] === 1) merging++
    else others++
  }
  cursor.tokens += kana * kanaTokens + repeated
  cursor.tokens += merging * (kana > 0 ? mergingTokens + besideKanaTokens : mergingTokens)
  cursor.tokens += others * otherIdeographTokens
  cursor.index = index
}

/** True for the third of three equal characters. Such runs hardly merge in these scripts. */
function isThird(text: string, index: number): boolean {
  if (index < 2) return false
  const code = text.charCodeAt(index)
  return code === text.charCodeAt(index - 1) && code === text.charCodeAt(index - 2)
}

/**
 * Ideographs that are a token on their own and occur in at least three longer tokens of o200k. They
 * make up most of simplified Chinese, two thirds of traditional Chinese and half of a novel.
 */
export const mergingIdeographs: string =
  '一丁万三上下不与专世业东个中为主举久么义之乐九也书买乱了予争事二于五亚些交产享京人什今介仕他' +
  '付代以们件价任份企众优会传伦位住体何作你例保信修俺候值假做停偷像元先克免兑党入全公六共关其具' +
  '典养内册冠准几凤凰出分划列则创初利别到制刷前力办加务动助势動務包化北区医十午华协单南博卡即历' +
  '原去县参及友双反发取受变口另只可台右号司合同名后吗否吧听告员周命和品哪售商啪器四回因团国图在' +
  '地场址坛型城域基堂場增士声处备复外多夜大天太夫央奇奖套女好如妇妻始姐委娱婆婷子字存学宁安完官' +
  '定宝实客家容对导小少就尼局展属山川州工市布师常幕平年幸广序库应底度建开式强当录彩影待律得微心' +
  '必快态怎思性总息情想意感戏成我战截户房所手打扫技投护报拍招持挂指按换据排接推提搜播支收改放政' +
  '效教数整文料斯新方施旗无日早时明易星是显時晚普更最月有朋服期未本机权材来极林果查标校样格案棋' +
  '植業模次欢欧款止正此步比毛民水永求江没河治法注洲活流测海消深清港游源满演漫点热然熟爱爽片版牌' +
  '物特犯狠猜率王玩环现球理生用由电男画留略病登白百的益监盘盟目直相看真着知码研破确碰示社神票福' +
  '种科秘积称程稳空突立站竞章端符第等简算管米类精系素索红级纪线组经绑结给统续维综编网置美群老考' +
  '者职联肖股育胆能自至航色节英草荐菜营蕉藏虎融行表装西要观规视觉解言設计认议讯记许论设诀证评识' +
  '词试话询语说请读调谱資财责账质购费资赌赚赛赢起超足跑路身載车转软载输达过运近返还这进违追退送' +
  '选透通速造道邀那部都采里重野量金钟钱银链销锋长開間门问间闻阅阳际陆限院除险随集電需霸青靠面韩' +
  '音页项预领频题额飞餐首香马验骗體高黄黑龙'

/** Syllables that occur in at least five longer tokens of o200k. */
export const mergingSyllables: string =
  '가간감개거것게결경계고공과관교구국그기까나내노는능니다당대데도동되드들등라래러려력로록료르를' +
  '리마만면명모무문미민바반발방번보부분비사상생서선설성세소수스습시신실아안않야어업없었에여역연' +
  '영예오요용우운원위유으은을음의이인일입있자작장재적전정제조주중지직진체최출치카크타터트표품프' +
  '하학한합해했행험현호화활회'

const firstIdeograph = 0x4e00
const isMergingIdeograph = makeTable(mergingIdeographs, { first: firstIdeograph, last: 0x9fff })
const firstSyllable = 0xac00
const isMergingSyllable = makeTable(mergingSyllables, { first: firstSyllable, last: 0xd7a3 })

interface CodeRange {
  readonly first: number
  readonly last: number
}

/** Bitmap of the characters, indexed from the start of the range. */
function makeTable(characters: string, { first, last }: CodeRange): Uint8Array {
  const table = new Uint8Array(last - first + 1)
  for (const character of characters) table[character.charCodeAt(0) - first] = 1
  return table
}
