// When requests are due. Arrivals do not wait for answers: a slow server meets the same load as a fast one.

export interface Arrivals {
  /** Requests in a second, in the mean. */
  readonly rate: number
  readonly seconds: number
  /**
   * Bursts, as traffic has them (a Markov-modulated Poisson process): quiet and busy times take turns, each of random length, and within
   * them arrivals are random. Without, they come evenly.
   */
  readonly hasBursts?: boolean
}

/** In busy times, this many times as many requests come as in quiet ones, and they last a fifth of the time. */
const burstFactor = 6
const busyShare = 0.2
const meanPhaseSeconds = 0.5

/** Times in milliseconds from the start, in order. */
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
    // What would fall into the next phase is drawn again there, at its rate.
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
