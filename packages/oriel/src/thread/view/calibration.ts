// How the provider's numbers compare with our estimates: learned from usage, bounded, and how far off it still is.

/** For one model of one thread. */
export interface Calibration {
  /** The provider's tokens for one of ours. */
  readonly factor: number
  readonly samples: number
  /** How far off the estimate was before each of the newest samples, as a share of what was measured. */
  readonly errors: readonly number[]
}

/** What a host is told. */
export interface Accuracy {
  /** What estimates are multiplied by; 1 until something was measured. */
  readonly factor: number
  readonly samples: number
  /** Distance between estimate and measurement, as a share of the measurement; absent until something was measured. */
  readonly error?: { readonly mean: number; readonly p95: number }
}

/** A wrong or foreign sample must not lead far astray. */
const minFactor = 0.5
const maxFactor = 2.5
/** The weight of a new sample: the first count more. */
const weight = 0.2
/** Requests smaller than this say more about overheads than about text. */
const minTokens = 100
const rememberedErrors = 50
/** Models whose factor is remembered: a thread seldom has more. */
const rememberedModels = 8

export type Calibrations = Readonly<Record<string, Calibration>>

const fresh: Calibration = { factor: 1, samples: 0, errors: [] }

/** What was learned of a model. Its name is the client's: it may be any word, also one that every object has. */
export function calibrationOf(known: Calibrations = {}, model = ''): Calibration | undefined {
  return Object.hasOwn(known, model) ? known[model] : undefined
}

/**
 * Whether a provider's count can be that of the request which was estimated. One far below it is not: mocks report a constant, some servers
 * leave out what was cached, and a limit that believes them holds nothing. A small request has overheads that nobody can estimate.
 */
export function isPlausible({
  estimated,
  measured,
}: {
  readonly estimated: number
  readonly measured: number
}): boolean {
  return measured > 0 && (estimated < minTokens || measured >= estimated * minFactor)
}

/** The calibrations after one more measurement; the same object when it says nothing. */
export function learn(
  known: Calibrations,
  sample: { readonly model: string; readonly estimated: number; readonly measured: number },
): Calibrations {
  const { model, estimated, measured } = sample
  if (!(estimated >= minTokens) || !isPlausible(sample)) return known
  const { factor, samples, errors } = calibrationOf(known, model) ?? fresh
  const ratio = clamp(measured / estimated)
  const share = Math.max(weight, 1 / (samples + 2))
  const error = Math.abs(factor * estimated - measured) / measured
  const next: Calibration = {
    factor: rounded(clamp(factor + share * (ratio - factor))),
    samples: samples + 1,
    errors: [...errors, rounded(Math.min(error, 10))].slice(-rememberedErrors),
  }
  const names = Object.keys(known)
  if (names.every((name) => name === model)) return { [model]: next }
  const others = Object.entries(known).filter(([name]) => name !== model)
  return Object.fromEntries([...others, [model, next] as const].slice(-rememberedModels))
}

export function accuracyOf(calibration: Calibration | undefined): Accuracy {
  if (calibration === undefined) return { factor: 1, samples: 0 }
  const { factor, samples, errors } = calibration
  const sorted = errors.toSorted((a, b) => a - b)
  const mean = rounded(sorted.reduce((a, b) => a + b, 0) / sorted.length)
  const p95 = sorted[Math.ceil(sorted.length * 0.95) - 1] as number
  return { factor, samples, error: { mean, p95 } }
}

function clamp(factor: number): number {
  return Math.min(maxFactor, Math.max(minFactor, factor))
}

/** Few digits: the same in every process and every snapshot. */
function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000
}
