// The surface of `oriel/internal`: what gateway and command use beside what is promised. It may change with every version.

export { assertNoSlip, assertOptions, isNearly, type OptionNames } from '../core/log/options.ts'
export { nearestName } from '../core/text/nearest-name.ts'
export type { Place, PlacedView, ResentHistory, ResentMessage } from '../thread/branches/places.ts'
export { placesOf, resentIn } from '../thread/branches/places.ts'
export { injectedTool } from '../thread/expand/tool.ts'
export { assertPrompts } from '../thread/options.ts'
export { originsIn } from '../thread/view/view.ts'
