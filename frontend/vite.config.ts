import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const api = "http://127.0.0.1:8000";

export default defineConfig({
  plugins: [react()],
  resolve: { tsconfigPaths: true },
  server: { host: "127.0.0.1", proxy: { "/v1": api, "/docs": api } },
  build: { target: "es2023", sourcemap: true },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
