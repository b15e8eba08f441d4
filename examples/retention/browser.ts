// A browser as a plugin: the model sees a labelled screen now, and later only what is worth keeping.

import { memoryStore, openThread, type Plugin, type Store, type Thread } from 'oriel'

/** What the plugin looks at. */
export interface Page {
  readonly url: string
  readonly text: string
  readonly buttons: readonly string[]
}

// [plugin]
export function browserPlugin(page: () => Page): Plugin {
  return {
    name: 'browser',
    label: 'Web browser',
    tools: ['click', 'open'],
    system: () => 'You see the page that is open. Buttons are numbered.',
    message: () => {
      const { url, text, buttons } = page()
      const labelled = buttons.map((button, n) => `[${n}] ${button}`).join('\n')
      return [
        // For this request only: numbers are worthless once the page has changed.
        { displayOnCurrentMessage: true, saveToChatHistory: false, content: `${url}\n${labelled}` },
        // For the next two messages or steps: what the page said.
        { displayOnCurrentMessage: false, saveToChatHistory: 2, content: `${url}\n${text}` },
        // For ever: where the agent has been.
        { displayOnCurrentMessage: false, saveToChatHistory: true, content: `visited ${url}` },
      ]
    },
  }
}
// [/plugin]

/** A thread with the plugin. Numbers count newer messages with context; `retention.unit` can be 'turns' or 'steps'. */
export function openBrowserThread(page: () => Page, store: Store = memoryStore()): Promise<Thread> {
  // [open]
  return openThread({
    id: 'browsing',
    store,
    plugins: [browserPlugin(page)],
    policy: { retention: {} },
    on: (event) => {
      if (event.type === 'plugin-failed') console.warn(event.message, event.reason)
    },
  })
  // [/open]
}
