import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { Button } from "@/components/button";
import { ConfirmButton } from "@/components/confirm-button";
import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { Table } from "@/components/table";
import { CodeBlock, TimeAgo } from "@/components/text";
import { toast } from "@/components/toast";
import {
  addMember,
  type Joining,
  type Member,
  membersQuery,
  projectQuery,
  removeMember,
  type Role,
  setRole,
} from "@/features/settings/api";
import { LONGEST } from "@/lib/api/fields.gen";
import { usePermissions } from "@/lib/permissions";
import styles from "./settings.module.css";

const ROLES: Readonly<Record<Role, string>> = {
  viewer: "reads everything",
  annotator: "answers annotation rounds",
  member: "also makes jobs and datasets",
  admin: "also changes what others made, and manages members",
};

/** The members of the project: their roles, and for an admin how they come and go. */
export function MembersTab() {
  const members = useQuery(membersQuery);
  const project = useQuery(projectQuery);
  const { may } = usePermissions();
  const isAdmin = may("manage");
  if (members.isPending) return <Skeleton rows={3} height="2.75rem" label="Loading members" />;
  if (members.isError) {
    return <ErrorNotice error={members.error} doing="load the members" onRetry={() => void members.refetch()} />;
  }
  return (
    <div className={styles.stack}>
      <p className={styles.note}>
        The members of <b>{project.data?.name ?? "this project"}</b> share its jobs, datasets and annotation rounds.{" "}
        {isAdmin ? "The role of a member decides what the member may do." : "An admin of the project changes roles."}
      </p>
      <ul className={styles.note}>
        {Object.entries(ROLES).map(([role, meaning]) => (
          <li key={role}>
            <b>{role}</b> {meaning}
          </li>
        ))}
      </ul>
      {isAdmin && <NewMember />}
      <Table label="Members" head={["Name", "Role", "Joined", "State"]}>
        {members.data.map((member) => (
          <MemberRow key={member.id} item={member} isAdmin={isAdmin} />
        ))}
      </Table>
    </div>
  );
}

const NOBODY: Joining = { name: "", kind: "person", role: "member" };

function NewMember() {
  const client = useQueryClient();
  const [joining, setJoining] = useState(NOBODY);
  const add = useMutation({
    mutationFn: addMember,
    onSuccess: () => {
      setJoining(NOBODY);
      void client.invalidateQueries({ queryKey: membersQuery.queryKey });
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    add.mutate({ ...joining, name: joining.name.trim() });
  };
  return (
    <div className={styles.stack}>
      <form className={styles.line} onSubmit={submit}>
        <label>
          <span>Name of a new member</span>
          <input
            type="text"
            value={joining.name}
            onChange={(event) => setJoining({ ...joining, name: event.target.value })}
            maxLength={LONGEST.keyName}
            placeholder="Ada"
          />
        </label>
        <label>
          <span>Role</span>
          <RoleSelect label="Role" value={joining.role} onChange={(role) => setJoining({ ...joining, role })} />
        </label>
        <label>
          <span>Kind</span>
          <select
            aria-label="Kind"
            value={joining.kind}
            onChange={(event) => setJoining({ ...joining, kind: event.target.value as Member["kind"] })}
          >
            <option value="person">person</option>
            <option value="service">program</option>
          </select>
        </label>
        <Button type="submit" look="primary" disabled={!joining.name.trim() || add.isPending}>
          Add member
        </Button>
      </form>
      {add.isError && (
        <p role="alert" className={styles.problem}>
          {add.error.message}
        </p>
      )}
      {add.data && (
        <div role="status" className={styles.created}>
          <p>
            <b>Pass this key on to {add.data.name} now.</b> {add.data.name} signs in with it. The platform stores only
            its hash and cannot show it again.
          </p>
          <CodeBlock label={add.data.name} code={add.data.key.text} />
          <Button onClick={() => add.reset()}>I have passed it on</Button>
        </div>
      )}
    </div>
  );
}

function RoleSelect({ value, onChange, label }: { value: Role; onChange: (role: Role) => void; label: string }) {
  return (
    <select aria-label={label} value={value} onChange={(event) => onChange(event.target.value as Role)}>
      {(Object.keys(ROLES) as Role[]).map((role) => (
        <option key={role} value={role}>
          {role}
        </option>
      ))}
    </select>
  );
}

function MemberRow({ item, isAdmin }: { item: Member; isAdmin: boolean }) {
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: (role: Role) => setRole(item.id, role),
    onSuccess: ({ role }) =>
      toast(`${item.name} is ${role === "member" || role === "viewer" ? "a" : "an"} ${role} now.`),
    onError: (error) => toast(error.message, { tone: "bad" }),
    onSettled: () => client.invalidateQueries(item.current ? undefined : { queryKey: membersQuery.queryKey }),
  });
  return (
    <tr>
      <th scope="row">
        {item.name} {item.kind === "service" && <small className={styles.tag}>program</small>}
      </th>
      <td data-label="Role">
        {isAdmin ? (
          <RoleSelect value={item.role} onChange={(role) => change.mutate(role)} label={`Role of ${item.name}`} />
        ) : (
          item.role
        )}
      </td>
      <td data-label="Joined">
        <TimeAgo time={item.joined_at} />
      </td>
      <td data-label="State">
        {item.current ? (
          "You"
        ) : isAdmin ? (
          <ConfirmButton
            button="Remove"
            label={`Remove ${item.name}`}
            title={`Remove ${item.name} from the project?`}
            confirm="Remove"
            keep="Keep the member"
            action={async () => {
              await removeMember(item.id);
              await client.invalidateQueries({ queryKey: membersQuery.queryKey });
            }}
            done={`${item.name} is no longer a member.`}
          >
            <p>
              The keys of {item.name} in this project are revoked, and browsers that signed in with them are signed out.
              The jobs and datasets of {item.name} stay.
            </p>
          </ConfirmButton>
        ) : (
          "Member"
        )}
      </td>
    </tr>
  );
}
