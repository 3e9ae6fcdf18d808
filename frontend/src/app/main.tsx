import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { loadFirstPage, Router } from "@/app/router";
import { takeCode } from "@/features/auth/api";
import { SessionGate } from "@/features/auth/ui";
import { queryClient } from "@/lib/api/client";
import "@/styles/tokens.css";
import "@/styles/base.css";

function start(element: HTMLElement): void {
  const code = takeCode(window);
  loadFirstPage(window.location.pathname);
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
if (root) start(root);
