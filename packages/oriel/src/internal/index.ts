// The surface of `oriel/internal`: what gateway and command use beside what is promised. It may change with every version.

export { searchToolBeside } from '../core/state/expansion.ts'
export { nearestName } from '../core/text/nearest-name.ts'
export type { Place, PlacedView, ResentHistory, ResentMessage } from '../thread/branches/places.ts'
export { placesOf, resentIn } from '../thread/branches/places.ts'
export { injectedTools } from '../thread/expand/lookups.ts'
export { originsIn } from '../thread/view/view.ts'
