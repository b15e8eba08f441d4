/** What an erased thread said; no file may hold it afterwards. */
export const canary = 'CANARY-4f1c'
