// Patterns of many words in many languages, built when one is first used: a program that never asks does not pay for them.

/** As much of a regular expression as is used here; `text.replace` takes it as well. */
export interface LazyPattern extends Pick<RegExp, 'test' | 'exec'> {
  [Symbol.replace](text: string, by: string): string
}

/** Memoizes the pattern that `make` builds. */
export function lazyPattern(make: () => RegExp): LazyPattern {
  let made: RegExp | undefined
  const pattern = (): RegExp => {
    made ??= make()
    return made
  }
  return {
    test: (text) => pattern().test(text),
    exec: (text) => pattern().exec(text),
    [Symbol.replace]: (text, by) => text.replace(pattern(), by),
  }
}
