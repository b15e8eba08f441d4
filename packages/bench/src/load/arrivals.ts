// Open-loop arrival times: requests do not wait for answers, so a slow server gets the same load as
// a fast one.

export interface Arrivals {
  /** Mean requests per second. */
  readonly rate: number
  readonly seconds: number
  /**
   * Bursts (a Markov-modulated Poisson process): quiet and busy phases of random length, with
   * random arrivals. Otherwise evenly spaced.
   */
  readonly hasBursts?: boolean
}

/** Rate of busy phases relative to quiet ones; they last a fifth of the time. */
const burstFactor = 6
const busyShare = 0.2
const meanPhaseSeconds = 0.5

/** Sorted times in milliseconds from the start. */
export function dueTimes({ rate, seconds, hasBursts = false }: Arrivals): readonly number[] {
  const count = Math.round(rate * seconds)
  if (!hasBursts) return Array.from({ length: count }, (_, index) => (index * 1000) / rate)
  const quietRate = rate / (1 - busyShare + busyShare * burstFactor)
  const times: number[] = []
  let at = 0
  let isBusy = false
  let phaseEnd = 0
  while (at < seconds) {
    if (at >= phaseEnd) {
      isBusy = !isBusy && phaseEnd > 0
      phaseEnd = at + exponential(meanPhaseSeconds * (isBusy ? busyShare : 1 - busyShare) * 2)
    }
    const next = at + exponential(1 / (quietRate * (isBusy ? burstFactor : 1)))
    // Redraw arrivals beyond the phase at the next phase's rate.
    if (next > phaseEnd) at = phaseEnd
    else {
      at = next
      if (at < seconds) times.push(at * 1000)
    }
  }
  return times
}

function exponential(mean: number): number {
  return -Math.log(1 - Math.random()) * mean
}
