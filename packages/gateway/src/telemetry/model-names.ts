// Names of models as labels. A client can make up any name, so one counts only when an upstream has answered for it.

/** Names that are told apart. */
export const maxModels = 50

const other = 'other'

export class ModelNames {
  readonly #answered = new Set<string>()

  /** An upstream has answered for this model. */
  answered(name: string): void {
    if (this.#answered.size < maxModels) this.#answered.add(name)
  }

  /** What stands for the name in metrics: itself, or `other`. */
  labelOf(name: string): string {
    return this.#answered.has(name) ? name : other
  }
}
