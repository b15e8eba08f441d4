import { defineConfig } from 'vite'

/** Where `npm run dev` finds a running gateway. */
const gateway = process.env.ORIEL_GATEWAY ?? 'http://127.0.0.1:4141'

export default defineConfig(({ command }) => ({
  root: import.meta.dirname,
  // Whatever NODE_ENV the builder has: the page gets React without its development checks.
  define: command === 'build' ? { 'process.env.NODE_ENV': '"production"' } : {},
  build: {
    // The gateway serves it and carries it in its package.
    outDir: '../gateway/dist/studio',
    emptyOutDir: true,
    target: 'es2023',
    // A data: address is more than the content security policy needs to allow.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { '/api': gateway, '/v1': gateway } },
}))
