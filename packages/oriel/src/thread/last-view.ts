// The newest view of a thread, kept as long as it is the newest of its branch.

import type { Journal } from './journal.ts'
import { newestView } from './requests.ts'
import type { BuiltView } from './viewing.ts'

export class LastView {
  #known:
    | { readonly journal: Journal; readonly seq: number | undefined; readonly built: BuiltView }
    | undefined

  keep(journal: Journal, built: BuiltView): void {
    this.#known = { journal, seq: newestSeq(journal), built }
  }

  /** The newest view of a branch, whoever asked for it. */
  async of(journal: Journal): Promise<BuiltView | undefined> {
    const known = this.#known
    const isNewest = known?.journal === journal && known.seq === newestSeq(journal)
    return isNewest ? known.built : newestView(journal)
  }
}

function newestSeq({ facts }: Journal): number | undefined {
  return facts.newestRequest?.seq
}
