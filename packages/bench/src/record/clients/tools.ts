// The two tools of the weather conversation, as schemas and as a function for loops written by hand.

import { z } from 'zod'
import { getWeather, listCities } from '../scenario.ts'

/** A default and keys that calls do not keep to: whether a client sends its own reading of a call back shows here. */
export const weatherSchema = z.object({
  city: z.string(),
  days: z.number().nullish().default(1),
})

export const citiesSchema = z.object({})

/** Runs a tool by name; a failure becomes the result's text. */
export function runTool(name: string, args: string): string {
  if (name === 'list_cities') return listCities()
  try {
    const { city } = weatherSchema.parse(JSON.parse(args))
    return JSON.stringify(getWeather(city))
  } catch (error) {
    return `Error: ${error instanceof Error ? error.message : String(error)}`
  }
}
