import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
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
  await Promise.all([preloadPage(window.location), session]);
  createRoot(element).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <SessionGate linkCode={code}>
          <Router />
        </SessionGate>
      </QueryClientProvider>
    </StrictMode>,
  );
}

const root = document.getElementById("root");
if (root) void start(root);
