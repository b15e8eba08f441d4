// The conversation that every client library is taken through, and the tools it may call.
//
// The answers are awkward on purpose: spaces around texts, arguments with odd spacing, escapes and keys that no schema
// names, an error result, an empty result, a failed request. What comes back of them is what the experiment is about.

import type { Reply } from './reply.ts'
import type { Step, Truth } from './script.ts'

export const instructions = 'You answer questions about the weather. Use the tools.'
export const firstQuestion = 'Compare the weather in Zürich and Kraków.'
export const secondQuestion = 'And tomorrow?'
export const editedQuestion = 'And on Sunday?'
export const thanks = 'Thanks.'

/** The tool `get_weather`: an object for most cities, an error for Kraków. */
export function getWeather(city: string): unknown {
  if (city === 'Kraków') throw new Error('No station in "Kraków" <44>')
  return { city, celsius: 21.5, wind: { from: 'NW', knots: 4 }, notes: ['föhn', 'a/b', '\u2028'] }
}

/** The tool `list_cities`: a text with trailing spaces. */
export function listCities(): string {
  return 'Zürich\nKraków\n\tBrno  \n'
}

/** Key order, spacing, escapes, a float, an integer-like key and one that the schema does not name. */
const awkwardArguments =
  '{ "days": 1.0, "city": "Z\\u00fcrich", "2": null, "memo": "a\\/b <c> \\ud83c\\udf26",\n "big": 9007199254740993 }'

const answers = {
  twoCalls: {
    reasoning: 'Two cities, so two lookups.\n',
    text: 'Let me look both up.\n',
    calls: [
      { name: 'get_weather', arguments: awkwardArguments },
      { name: 'get_weather', arguments: '{"city":"Kraków"}' },
    ],
  },
  oneCall: {
    reasoning: 'Kraków failed; which cities are there?',
    calls: [{ name: 'list_cities', arguments: '{}' }],
  },
  comparison: {
    reasoning: 'Enough to answer.',
    text: '\nZürich has 21.5 °C; no data for Kraków.  \n',
  },
  callAgain: {
    text: 'One moment.',
    calls: [{ name: 'get_weather', arguments: '{"city": "Brno"}' }],
  },
  tomorrow: { text: 'Tomorrow: 21.5 °C.' },
  sunday: { text: 'Sunday: 21.5 °C.' },
  fresh: { text: 'Which dates do you mean?' },
  welcome: { text: 'You are welcome.' },
} satisfies Record<string, Reply>

/**
 * Two turns with tools, a failed request in between, then the second question edited, then another conversation that
 * begins with the same words.
 */
export function weatherSteps(): readonly Step[] {
  return [
    { name: 'ask', truth: 'new-thread', reply: answers.twoCalls },
    { name: 'results', truth: { extends: 'ask' }, reply: answers.oneCall },
    { name: 'failed', truth: { extends: 'results' }, reply: { failWith: 500 } },
    { name: 'listed', truth: { retry: 'failed' }, reply: answers.comparison },
    { name: 'second', truth: { extends: 'listed' }, reply: answers.callAgain },
    { name: 'looked', truth: { extends: 'second' }, reply: answers.tomorrow },
    { name: 'edited', truth: { fork: 'looked', fromEnd: 1 }, reply: answers.sunday },
    { name: 'same words', truth: 'new-thread', reply: answers.fresh },
    { name: 'thanks', truth: { extends: 'same words' }, reply: answers.welcome },
  ]
}

/** The first turn, then a client that shortens its own history before the second. */
export function shortenedSteps(
  second: Truth,
  options: { readonly hasSummary: boolean },
): readonly Step[] {
  const summary: Step = {
    name: 'summary',
    truth: 'other',
    reply: { text: 'They compare weather.' },
  }
  return [
    { name: 'ask', truth: 'new-thread', reply: answers.twoCalls },
    { name: 'results', truth: { extends: 'ask' }, reply: answers.oneCall },
    { name: 'listed', truth: { extends: 'results' }, reply: answers.comparison },
    ...(options.hasSummary ? [summary] : []),
    { name: 'second', truth: second, reply: answers.callAgain },
    { name: 'looked', truth: { extends: 'second' }, reply: answers.tomorrow },
  ]
}

/** A call whose arguments are not JSON, then another turn. */
export function brokenSteps(): readonly Step[] {
  const calls = [{ name: 'get_weather', arguments: '{"city": "Zü' }]
  return [
    { name: 'ask', truth: 'new-thread', reply: { text: 'Looking.', calls } },
    { name: 'results', truth: { extends: 'ask' }, reply: answers.tomorrow },
    { name: 'second', truth: { extends: 'results' }, reply: answers.sunday },
  ]
}

/**
 * Two conversations at once that begin with the same words and whose calls have the same ids; one answer is lost on its
 * way and asked for again.
 */
export function twinSteps(): readonly Step[] {
  const call = (city: string): Reply => ({
    calls: [{ name: 'get_weather', arguments: `{"city":"${city}"}` }],
  })
  return [
    { name: 'a1', truth: 'new-thread', reply: call('Brno') },
    { name: 'b1', truth: 'new-thread', reply: call('Linz') },
    { name: 'a2', truth: { extends: 'a1' }, reply: { text: 'Warm in Brno.' } },
    { name: 'b2 lost', truth: { extends: 'b1' }, reply: { text: 'Warm.', isCut: true } },
    { name: 'b2', truth: { retry: 'b2 lost' }, reply: { text: 'Warm in Linz.' } },
    { name: 'a3', truth: { extends: 'a2' }, reply: answers.tomorrow },
    { name: 'b3', truth: { extends: 'b2' }, reply: answers.tomorrow },
    { name: 'a4', truth: { extends: 'a3' }, reply: answers.welcome },
    { name: 'b4', truth: { extends: 'b3' }, reply: answers.welcome },
  ]
}
