/** What a thread says before it is erased; no file may hold it afterwards. */
export function canaryOf(thread: string): string {
  return `CANARY of ${thread}!`
}
