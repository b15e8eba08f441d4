import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { directivesIn, isConfirmation, isPinOfOther, restatedIn, statesRule } from './directives.ts'

const texts = (message: string) => directivesIn(message).map(({ text }) => text)

const stated: Readonly<Record<string, readonly string[]>> = {
  English: [
    'For the rest of this session never use the word obviously.',
    'Please do not use emojis in your replies.',
    'I prefer tabs over spaces.',
    'Answer in French.',
    'No emojis.',
    'Write commit messages in English.',
    'Use metric units.',
    'All prices must be in euros.',
    'Whenever you show a date, write it as YYYY-MM-DD.',
    'Could you please stop apologizing?',
    'We never deploy on Fridays.',
  ],
  German: [
    'Ab jetzt antworte bitte nur noch auf Deutsch.',
    'Verwende niemals var in JavaScript.',
    'Ich möchte keine Emojis in den Antworten.',
  ],
  French: ['Désormais, réponds toujours en français.', 'N’utilise jamais de point-virgule.'],
  Spanish: [
    'De ahora en adelante responde siempre en español.',
    'No uses emojis en tus respuestas.',
  ],
  Italian: ['D’ora in poi usa sempre il sistema metrico.', 'Non modificare mai i file di test.'],
  Portuguese: [
    'A partir de agora, responda sempre em português.',
    'Nunca altere os arquivos de configuração.',
  ],
  Dutch: ['Vanaf nu antwoord je alleen in het Nederlands.', 'Gebruik nooit var in de code.'],
  Russian: ['С этого момента отвечай только на русском языке.', 'Никогда не удаляй миграции.'],
  Polish: ['Od teraz odpowiadaj zawsze po polsku.', 'Nie używaj nigdy skrótów.'],
  Turkish: ['Bundan sonra her zaman Türkçe cevap ver.', 'Asla test dosyalarını değiştirme.'],
  Chinese: ['从现在开始，请始终用中文回答。', '不要使用分号。', '從現在開始，請一律使用繁體字。'],
  Japanese: ['今後は必ず日本語で答えてください。', 'コメントは書かないでください。'],
  Korean: ['앞으로는 항상 한국어로 답변해 주세요.', '절대로 main 브랜치에 푸시하지 마세요.'],
}

const ordinary = [
  "I've never flown before.",
  'It always fails when I run it.',
  'Why does it never work?',
  'I want to exchange the keyboard for a quieter one.',
  'Yes, please go ahead.',
  'No other changes needed.',
  'Write a function that parses dates.',
  'He said "never deploy on Friday" and left.',
  'Never mind.',
  'I was always told this would be refundable.',
  'I am interested in moving forward with the new one.',
  'Ich habe noch nie so etwas gesehen.',
  'Je n’ai jamais reçu le colis.',
]

describe('directives in a text', () => {
  for (const [language, sentences] of Object.entries(stated)) {
    it(`[DR1] are found word for word in ${language}, alone and between other sentences`, () => {
      for (const sentence of sentences) {
        expect(texts(sentence)).toEqual([sentence])
        expect(texts(`Thank you. ${sentence}\nThe second file is next.`)).toEqual([sentence])
      }
    })
  }

  it('[DR1] a text states a rule exactly if a rule or a pin is found in it', () => {
    const sentences = [...Object.values(stated).flat(), ...ordinary]
    const others = [
      'Remember this: the key is blue.',
      'Instructions:',
      '- Be brief.',
      '```',
      '> no',
    ]
    const line = fc.constantFrom(...sentences, ...others, 'What is new?', 'Never? Always!')
    const text = fc.array(fc.tuple(line, fc.constantFrom(' ', '\n', '\n\n'))).map((parts) => {
      return parts.flat().join('')
    })
    fc.assert(
      fc.property(text, (message) => {
        const isStated = directivesIn(message).some(({ firmness }) => /pin|rule/.test(firmness))
        expect(statesRule(message)).toBe(isStated)
      }),
    )
  })

  it('[DR1] ordinary sentences, stories, questions and quoted words are none', () => {
    expect(ordinary.flatMap(texts)).toEqual([])
  })

  it('[DR1] stand between pasted code and logs, which are not the words of the user', () => {
    const message = [
      'This is what I got:',
      '```js',
      '// always use var here',
      'never()',
      '```',
      '2026-01-01 10:00:00 ERROR never retry this request',
      '[WARN] you must always set a limit',
      '    at always (never.js:1)',
      '> From now on answer in Latin.',
      '<document>',
      'Never open this file.',
      '</document>',
      'const always = never(1);',
      'From now on write dates as YYYY-MM-DD. This applies to logs too.',
      'Traceback (most recent call last):',
      '"Always trust the cache."',
      'What is wrong?',
    ].join('\n')
    expect(directivesIn(message)).toEqual([
      { text: 'From now on write dates as YYYY-MM-DD.', firmness: 'rule', isAdjacent: false },
      { text: 'This applies to logs too.', firmness: 'wish', isAdjacent: true },
    ])
  })

  it('[DR1] are the items of a list under a title, and nothing behind the list', () => {
    const message = 'Rules for this project:\n- tabs\n- two reviewers per change\n\nNow fix it.'
    expect(texts(message)).toEqual(['tabs', 'two reviewers per change'])
  })

  it('[DR4] a text that is to be remembered is taken whole, or the paragraph that says so', () => {
    const short = 'The host is 10.2.3.4 and the port 8443. Remember this for the whole session.'
    expect(directivesIn(short)).toEqual([{ text: short, firmness: 'pin', isAdjacent: false }])
    const long = `${'Some words about the host. '.repeat(60)}\n\nRemember this for the whole session:\n\nport 8443`
    expect(texts(long)).toEqual(['Remember this for the whole session:\n\nport 8443'])
    expect(isPinOfOther('Please remember this for the whole session.')).toBe(true)
    expect(isPinOfOther(short)).toBe(false)
  })

  it('[DR4] an answer restates one where it says what holds from now on; yes is said in many languages', () => {
    expect(
      restatedIn(
        'Understood: from now on I will use metric units. The file is fixed. Correct?',
      ).map(({ text }) => text),
    ).toEqual(['Understood: from now on I will use metric units.'])
    expect(restatedIn('The file never existed. I always find that odd.')).toEqual([])
    for (const yes of [
      'Yes, exactly.',
      'Genau.',
      'Oui !',
      'Sí',
      'Да, верно',
      '是的',
      'はい',
      '네',
    ]) {
      expect(isConfirmation(yes)).toBe(true)
    }
    for (const no of ['No.', 'Yesterday it worked', 'What?', '']) {
      expect(isConfirmation(no)).toBe(false)
    }
  })

  it('[DR1] every directive is a part of the text, whatever the text', () => {
    const words = [
      'never',
      'always',
      'from now on',
      '`',
      '"',
      '\n',
      '. ',
      '```\n',
      '<a>\n',
      '不要',
      ' ',
      'x',
      '> ',
      ':',
      '\ud83d\ude00',
    ]
    const any = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 300 }),
      fc.array(fc.constantFrom(...words), { maxLength: 60 }).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(any, (text) => {
        for (const found of directivesIn(text)) {
          expect(text).toContain(found.text)
          expect(found.text.trim()).not.toBe('')
        }
      }),
    )
  })

  it('[DR1] a text of any length and shape is read in bounded steps', () => {
    const texts = ['<a>\n', '```\n', 'never ', 'x', '"a ', 'a.', ', ', 'use x '].map((piece) =>
      piece.repeat(500_000 / piece.length),
    )
    for (const text of texts) expect(directivesIn(text).length).toBeLessThan(500_000)
  })
})
