import { loadable } from "@/components/loadable";
import { PageHeader } from "@/components/page-header";
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
  { id: "audit", label: "Audit" },
  { id: "notifications", label: "Notifications" },
] as const satisfies readonly Choice<string>[];

const AuditTab = loadable(async () => (await import("@/features/settings/ui/audit-tab")).AuditTab);

type TabId = (typeof TABS)[number]["id"];

const PANELS: Record<TabId, React.ComponentType> = {
  keys: KeysTab,
  members: MembersTab,
  usage: UsageTab,
  audit: AuditTab,
  notifications: NotificationsTab,
};

export function SettingsPage() {
  const [params] = useAddress();
  const { may } = usePermissions();
  const tabs = TABS.filter(({ id }) =>
    id === "audit" ? may("audit") : may("read") || id === "keys" || id === "notifications",
  );
  const tab = tabs.find(({ id }) => id === params.get("tab"))?.id ?? "keys";
  const Panel = PANELS[tab];
  return (
    <>
      <PageHeader title="Settings" wide />
      <Tabs tabs={tabs} value={tab} addressOf={(id) => new URLSearchParams({ tab: id })} label="Settings">
        <Panel />
      </Tabs>
    </>
  );
}
