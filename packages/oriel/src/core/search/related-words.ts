// Words that stand for each other in questions and answers: other forms of a word that no ending gives, abbreviations, and words of nearly the
// same meaning. A question about a doctor is answered by "Dr. Lee". General English and the trade's abbreviations only: a word with several
// everyday meanings is in no group.

import { analyse } from './analysis.ts'

/** Forms of one word, and its abbreviations: each counts as the word itself. */
const forms = `
  go went gone, buy bought, eat ate eaten, run ran, write wrote written, take took taken, make made, see saw seen, tell told, pay paid, meet met,
  begin began begun, choose chose chosen choice, drive drove driven, fly flew flown flight, give gave given, grow grew grown growth, know knew known,
  lose lost loss, sell sold sale, send sent, sleep slept, speak spoke spoken, spend spent, teach taught, think thought, win won, wear wore worn, build built,
  break broke broken, bring brought, catch caught, come came, draw drew drawn, drink drank drunk, feel felt, fight fought, forget forgot forgotten,
  hear heard, hold held, keep kept, lend lent, ride rode ridden, rise rose risen, sing sang sung, sit sat, steal stole stolen, swim swam swum,
  throw threw thrown, understand understood, freeze froze frozen, hide hid hidden, child children, person people, man men, woman women, foot feet,
  tooth teeth, mouse mice, wife wives, knife knives, analysis analyses, index indices, doctor dr, professor prof, television tv, kilometer km,
  kilogram kg, minute min, hour hr, repository repo, database db, configuration config, authentication auth, documentation docs, environment env,
  application app, information info, administrator admin, temperature temp, maximum max, minimum min, average avg, specification spec, message msg,
  request req, response res, password pwd, identifier id, address addr, parameter param, argument arg, directory dir, production prod, development dev,
  kubernetes k8s, javascript js, typescript ts, postgresql postgres, internationalization i18n, decide decision, arrive arrival, marry married marriage wedding,
  die died death, weigh weight, analyse analysis analyze, advise advice`

/** Words of nearly the same meaning: each counts half. */
const alike = `
  doctor physician, buy purchase, cost price expense, job career employment, car vehicle, movie film, child kid, mother mom mum, father dad,
  trip travel vacation journey, photo picture image, bike bicycle, phone cellphone smartphone, begin start, finish complete, error bug failure exception,
  delete remove, fix repair, appointment meeting, boss manager supervisor, ill sick, medicine medication, shop store, gift present, lawyer attorney,
  workout exercise, salary wage income, function method, directory folder, couch sofa, garbage trash rubbish, fridge refrigerator, teacher instructor,
  baby infant, reply answer response, budget spend, quick fast, big large huge, small little tiny, house home, near close nearby, old aged,
  restaurant cafe, company firm, pupil student, hobby pastime, colleague coworker, friend buddy, happy glad, afraid scared worried, hard difficult`

let related: ReadonlyMap<string, ReadonlyMap<string, number>> | undefined
const none: ReadonlyMap<string, number> = new Map()

/** The tokens that may stand in the place of one, with what each counts beside it. */
export function relatedTo(token: string): ReadonlyMap<string, number> {
  related ??= tableOf()
  return related.get(token) ?? none
}

function tableOf(): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const table = new Map<string, Map<string, number>>()
  for (const [list, weight] of [
    [forms, 1],
    [alike, 0.5],
  ] as const) {
    for (const group of list.split(',')) {
      const tokens = new Set(
        group
          .trim()
          .split(/\s+/)
          .flatMap((word) => analyse(word).slice(-1)),
      )
      for (const token of tokens) {
        const own = table.get(token) ?? new Map<string, number>()
        table.set(token, own)
        for (const other of tokens) if (other !== token && !own.has(other)) own.set(other, weight)
      }
    }
  }
  return table
}
