// Model names as metric labels. Clients can invent names, so a name becomes a label only after an
// upstream has answered for it.

/** Maximum distinct names. */
export const maxModels = 50

const other = 'other'

export class ModelNames {
  readonly #answered = new Set<string>()

  /** Records that an upstream answered for this model. */
  answered(name: string): void {
    if (this.#answered.size < maxModels) this.#answered.add(name)
  }

  /** The label for a model: its name, or `other`. */
  labelOf(name: string): string {
    return this.#answered.has(name) ? name : other
  }
}
