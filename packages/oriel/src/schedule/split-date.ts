// Names of models that end with a day, as the catalogue writes it.

/** A name with the date in it written with hyphens: `-20260131` as `-2026-01-31`. */
export function withSplitDate(name: string): string {
  return name.replace(
    /(-)(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)/g,
    (whole, hyphen: string, year: string, month: string, day: string) => {
      const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
      // The 31st of February is no date.
      return date.getUTCMonth() === Number(month) - 1 ? `${hyphen}${year}-${month}-${day}` : whole
    },
  )
}
