// The estimate's part for writing that is not Latin: alphabets by the word, Chinese and Japanese by
// the character.

import { kindOf, kinds } from './character-kind.ts'

// Measured in the translated messages, manuals and tutors of a Debian system, and in passages of
// prose and technical writing. Prose is cheaper than messages; the numbers lie between the two.

/** Where in a text a count has come to, and how many tokens so far. */
export interface Cursor {
  readonly text: string
  /** The first character that is not yet counted. */
  index: number
  tokens: number
}

interface Script {
  /** So many letters are covered by the first token. */
  readonly free: number
  readonly perLetter: number
  /**
   * Letters from this one on belong to languages that o200k knows less well: Ukrainian, Persian.
   */
  readonly foreignFrom: number
  /** What each of them costs on top. */
  readonly perForeign: number
}

const noForeign = { foreignFrom: 0x10000, perForeign: 0 }

const scripts: Readonly<Record<number, Script>> = {
  [kinds.hangul]: { free: 0.8, perLetter: 0.5, ...noForeign },
  [kinds.cyrillic]: { free: 2, perLetter: 0.155, foreignFrom: 0x452, perForeign: 0.65 },
  [kinds.greek]: { free: 2.3, perLetter: 0.4, ...noForeign },
  [kinds.arabic]: { free: 1.7, perLetter: 0.25, foreignFrom: 0x670, perForeign: 0.2 },
  [kinds.hebrew]: { free: 1.4, perLetter: 0.37, ...noForeign },
  [kinds.thai]: { free: -0.4, perLetter: 0.38, ...noForeign },
  [kinds.indic]: { free: 2.2, perLetter: 0.31, ...noForeign },
  // Georgian, Armenian, Khmer, Burmese.
  [kinds.otherScript]: { free: 1.5, perLetter: 0.45, ...noForeign },
}
/** Scripts of which o200k has not even all letters: Ethiopic, Yi, rare ideographs. */
const rareScript: Script = { free: 0.5, perLetter: 2, ...noForeign }

/** Counts one word of an alphabet other than Latin. */
export function readScript(cursor: Cursor, kind: number): void {
  const { free, perLetter, foreignFrom, perForeign } = scripts[kind] ?? rareScript
  const { text } = cursor
  let index = cursor.index
  let foreign = 0
  let repeated = 0
  for (; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (kindOf(code) !== kind) break
    if (code >= foreignFrom) foreign++
    if (isThird(text, index)) repeated++
  }
  const letters = index - cursor.index - repeated
  cursor.tokens += 1 + Math.max(0, letters - free) * perLetter
  cursor.tokens += foreign * perForeign + repeated
  cursor.index = index
}

/** The first character of a run seldom merges with what follows a mark. */
const runTokens = 0.42
const kanaTokens = 0.62
/** Simplified Chinese: half of the characters merge with a neighbour. */
const ideographTokens = 0.67
/** Beside kana: Japanese compounds merge less. */
const kanjiTokens = 0.9
/** A character of traditional Chinese costs more itself, and so do the shared ones around it. */
const traditionalTokens = 0.74

/** Counts a run of Chinese or Japanese characters. */
export function readIdeographs(cursor: Cursor): void {
  const { text } = cursor
  let index = cursor.index
  let kana = 0
  let ideographs = 0
  let traditional = 0
  let repeated = 0
  for (; index < text.length; index++) {
    const code = text.charCodeAt(index)
    const kind = kindOf(code)
    if (kind !== kinds.kana && kind !== kinds.ideograph) break
    if (isThird(text, index)) repeated++
    else if (kind === kinds.kana) kana++
    else {
      ideographs++
      traditional += isTraditional[code - firstIdeograph] ?? 0
    }
  }
  cursor.tokens += runTokens + kana * kanaTokens + repeated
  if (kana > 0) cursor.tokens += ideographs * kanjiTokens
  else cursor.tokens += ideographs * ideographTokens + traditional * traditionalTokens
  cursor.index = index
}

/** The same character a third time: a row of one letter, which hardly merges in these scripts. */
function isThird(text: string, index: number): boolean {
  if (index < 2) return false
  const code = text.charCodeAt(index)
  return code === text.charCodeAt(index - 1) && code === text.charCodeAt(index - 2)
}

/**
 * Frequent characters that only traditional Chinese has (and some Japanese): a quarter of its
 * running text.
 */
const traditionalCharacters =
  '這個們來說時國會對學過還開關點問長東書電話見現進發動實經應樣無種機數據統認請設務處選項變線圖員業產該從讓間語識試題頁連錯' +
  '誤輸刪節單維護標記協議調類為與將後當於給幾兩萬億麼嗎邊裡陽頭館歷寫樓計畫論討門狀態結傳訂讀權檢複編號測執紀錄檔訊簽額補' +
  '灣臺歡謝幫觀親愛聽買賣錢車馬飛場輕運資網絡級組織約紅綠終練習廣廠壓離難雙雞鳥魚龍龜麗豐專樂樹橋氣決沒況減溫滅漢漸濟營燈' +
  '燒爾環獨獲畢療盡監盤確礎禮積稱穩窮競筆範築簡糧緊緣縣總聯聲職聞腦腳臉舉舊藝藥蘭術衛裝規視覺觸訓託許評詞詢詳誠誰課談諸謂' +
  '講證譯譽讚負責財貨質費貼貿賓賞賽贏趕蹤轉輪辦農適遠遲遺鄉醫釋鋼銀銷鎖鏡鐘鐵閉閱陣陸隊際隨險隱雖靈靜響順須預領頻願顧顯風' +
  '飯飲養餘騎驗驚體鬥鬧黨齊齡'

const firstIdeograph = 0x4e00
const isTraditional = makeTraditional()

function makeTraditional(): Uint8Array {
  const table = new Uint8Array(0x9fff - firstIdeograph + 1)
  for (const character of traditionalCharacters) table[character.charCodeAt(0) - firstIdeograph] = 1
  return table
}
