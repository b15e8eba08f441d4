/** Upper bounds of the histogram of event loop lag, in milliseconds. */
export const lagBounds: readonly number[] = [10, 20, 50, 100, 250, 500, 1000, Infinity]
