// What a rule asks of the disk: one whole output as a file, for tools that read files.

/** An output that should be kept as a file as well. */
export interface FileRequest {
  readonly directory: string
  /** SHA-256 of the text in UTF-8, as hexadecimal digits: the file's name comes from it and from nothing else. */
  readonly sha256: string
  readonly text: string
}

/** Where the file is, or why there is none. The log has the original in any case. */
export type FileAnswer =
  | { readonly state: 'saved'; readonly path: string }
  | { readonly state: 'failed'; readonly reason: string }
  | { readonly state: 'none' }

export type FileOf = (wish: FileRequest) => FileAnswer

/** What a rule knows where nothing can be written. */
export const noFile: FileOf = () => ({ state: 'none' })
