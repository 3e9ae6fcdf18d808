import { QueryClientProvider } from "@tanstack/react-query";
import { startTransition, StrictMode } from "react";
import { prefetchData, preloadPage, Router } from "@/app/router";
import { sessionQuery, takeCode } from "@/features/auth/api";
import { SessionGate } from "@/features/auth/ui";
import { queryClient } from "@/lib/api/client";
import "@/styles/tokens.css";
import "@/styles/base.css";

async function start(element: HTMLElement): Promise<void> {
  const code = takeCode(window);
  const session = code === null ? queryClient.query(sessionQuery).catch(() => null) : null;
  if (code === null) prefetchData(window.location);
  // With the code and the session, React shows the page at once. Otherwise it shows a placeholder, for 0.3 s at least.
  const page = preloadPage(window.location);
  await new Promise((resolve) => setTimeout(resolve)); // The requests are on their way before React DOM is set up.
  const [{ createRoot }] = await Promise.all([import("react-dom/client"), page, session]);
  const shown = createRoot(element);
  // In a transition, React shows the page in small steps, between which the browser can react to the user.
  startTransition(() =>
    shown.render(
      <StrictMode>
        <QueryClientProvider client={queryClient}>
          <SessionGate linkCode={code}>
            <Router />
          </SessionGate>
        </QueryClientProvider>
      </StrictMode>,
    ),
  );
}

const root = document.getElementById("root");
if (root) void start(root);
