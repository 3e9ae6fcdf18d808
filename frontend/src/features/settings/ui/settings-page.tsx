import { type ComponentType, Suspense } from "react";
import { loadable } from "@/components/loadable";
import { PageHeader } from "@/components/page-header";
import { Skeleton } from "@/components/status";
import { type Choice, Tabs } from "@/components/tabs";
import { KeysTab } from "@/features/settings/ui/keys-tab";
import { MembersTab } from "@/features/settings/ui/members-tab";
import { NotificationsTab } from "@/features/settings/ui/notifications-tab";
import { UsageTab } from "@/features/settings/ui/usage-tab";
import { useAddress } from "@/lib/address";
import { usePermissions } from "@/lib/permissions";

const TABS = [
  { id: "keys", label: "API keys" },
  { id: "members", label: "Members" },
  { id: "usage", label: "Usage and limits" },
  { id: "webhooks", label: "Webhooks" },
  { id: "audit", label: "Audit" },
  { id: "platform", label: "Platform" },
  { id: "notifications", label: "Notifications" },
] as const satisfies readonly Choice<string>[];

/** The action that a tab is for. Other tabs are for everybody. */
const NEEDED = {
  members: "read",
  usage: "read",
  webhooks: "read_webhooks",
  audit: "audit",
  platform: "operate",
} as const;

type TabId = (typeof TABS)[number]["id"];

const AuditTab = loadable(async () => (await import("@/features/settings/ui/audit-tab")).AuditTab);
const WebhooksTab = loadable(async () => (await import("@/features/settings/ui/webhooks-tab")).WebhooksTab);
const PlatformTab = loadable(async () => (await import("@/features/settings/ui/platform-tab")).PlatformTab);

const PANELS: Record<TabId, ComponentType> = {
  keys: KeysTab,
  members: MembersTab,
  usage: UsageTab,
  webhooks: WebhooksTab,
  audit: AuditTab,
  platform: PlatformTab,
  notifications: NotificationsTab,
};

export function SettingsPage() {
  const [params] = useAddress();
  const { may } = usePermissions();
  const tabs = TABS.filter(({ id }) => !(id in NEEDED) || may(NEEDED[id as keyof typeof NEEDED]));
  const tab = tabs.find(({ id }) => id === params.get("tab"))?.id ?? "keys";
  const Panel = PANELS[tab];
  return (
    <>
      <PageHeader title="Settings" wide />
      <Tabs tabs={tabs} value={tab} addressOf={(id) => new URLSearchParams({ tab: id })} label="Settings">
        <Suspense fallback={<Skeleton rows={3} height="2.75rem" />}>
          <Panel />
        </Suspense>
      </Tabs>
    </>
  );
}
