/** A command that submits `spec` again. The key comes from the environment, never from the page. */
export function submitCommand(origin: string, spec: unknown): string {
  const body = JSON.stringify(spec, null, 2).replaceAll("'", "'\\''");
  return [
    `curl ${origin}/v1/jobs \\`,
    `  -H "Authorization: Bearer $PROXIMAL_API_KEY" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${body}'`,
  ].join("\n");
}
