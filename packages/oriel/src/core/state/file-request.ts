// File requests: a rule asks the host to save one whole output as a file, for tools that read
// files.

/** An output to save as a file as well. */
export interface FileRequest {
  readonly directory: string
  /** SHA-256 of the text in UTF-8, hexadecimal. The file name depends on nothing else. */
  readonly sha256: string
  readonly text: string
}

/** Path of the file, or why there is none. The log keeps the original in any case. */
export type FileAnswer =
  | { readonly state: 'saved'; readonly path: string }
  | { readonly state: 'failed'; readonly reason: string }
  | { readonly state: 'none' }

export type FileOf = (request: FileRequest) => FileAnswer

/** For hosts that cannot write files. */
export const noFile: FileOf = () => ({ state: 'none' })
