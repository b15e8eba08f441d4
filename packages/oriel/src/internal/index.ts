// The surface of `oriel/internal`: what the gateway knows of a view beside what is promised. It may change with every version.

export type { Place, PlacedView, ResentHistory, ResentMessage } from '../thread/branches/places.ts'
export { placesOf, resentIn } from '../thread/branches/places.ts'
export { originsIn } from '../thread/view/view.ts'
