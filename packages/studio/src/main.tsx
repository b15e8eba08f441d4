// Entry point of the studio.

import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { applyTheme } from './theme.ts'
import './styles/base.css'
import './styles/controls.css'
import './styles/chat.css'
import './styles/start.css'
import './styles/inspector.css'
import './styles/edits.css'
import './styles/timeline.css'

applyTheme()
const root = document.getElementById('root')
if (root !== null) createRoot(root).render(<App />)
