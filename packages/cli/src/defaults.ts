// Defaults that the help names.

/** Port of `oriel serve`. */
export const defaultPort = 4141

/** Data directory of `oriel serve` and the store commands. */
export const defaultFolder = './oriel-data'

/** Files up to this size are counted exactly: that takes seconds. */
export const exactMegabytes = 32

/** Rows of each list in a report, so that it fits two screens. */
export const defaultTop = 5
