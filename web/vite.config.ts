import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

const server = process.env.OSTLER_URL ?? 'http://127.0.0.1:7470'

// Addresses are relative, so that the dashboard works behind any path prefix.
export default defineConfig({
  base: './',
  plugins: [svelte()],
  build: {
    target: 'es2022',
    emptyOutDir: true,
    // The content security policy allows no data: URLs.
    assetsInlineLimit: 0,
    reportCompressedSize: true,
  },
  server: {
    proxy: Object.fromEntries(['/v1', '/openapi.json', '/readyz', '/widget.js', '/chat'].map((path) => [path, server])),
  },
})
