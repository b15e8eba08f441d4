// Rows of a snapshot that are made when they are read: making them is most of what a snapshot costs, and its writer pauses in between.

/** A row for each item; undefined for one that has none. The items must stay as they are. */
export function rowsOf<T, Row>(
  items: readonly T[],
  row: (item: T) => Row | undefined,
): Iterable<Row> {
  return {
    *[Symbol.iterator]() {
      for (const item of items) {
        const made = row(item)
        if (made !== undefined) yield made
      }
    },
  }
}
