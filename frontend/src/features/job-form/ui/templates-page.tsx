import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { buttonClass } from "@/components/button";
import { ConfirmButton } from "@/components/confirm-button";
import { ErrorNotice, Notice, StaleBanner } from "@/components/notice";
import { PageHeader } from "@/components/page-header";
import { Skeleton } from "@/components/status";
import { Table } from "@/components/table";
import { CodeBlock, TimeAgo } from "@/components/text";
import { deleteTemplate, type Template, templatesQuery } from "@/features/job-form/api";
import { differences, type JsonObject } from "@/features/job-form/model/spec";
import { paths } from "@/lib/address";
import { count } from "@/lib/format";
import { Recipes } from "@/features/job-form/ui/recipes";
import styles from "./form.module.css";

/** The templates of the user: what each one sets, a job from it, and its end. */
export function TemplatesPage() {
  const query = useQuery(templatesQuery);
  const templates = query.data;
  return (
    <>
      <PageHeader
        title="Templates"
        wide
        parent={{ to: paths.jobs, label: "Jobs" }}
        actions={
          <Link className={buttonClass("primary")} to={paths.newJob()}>
            New job
          </Link>
        }
      />
      {query.isError && templates && <StaleBanner since={query.dataUpdatedAt} />}
      {query.isPending && <Skeleton rows={4} height="2.5rem" label="Loading templates" />}
      {query.isError && !templates && (
        <ErrorNotice error={query.error} doing="load the templates" onRetry={() => void query.refetch()} />
      )}
      {templates?.length === 0 && (
        <Notice title="No templates yet">
          <p>
            A template holds some settings of a job under a name. To make one, set them in the form of a{" "}
            <Link to={paths.newJob()}>new job</Link> and choose Save as template from its Templates menu.
          </p>
        </Notice>
      )}
      {templates && templates.length > 0 && (
        <Table label="Templates" head={["Template", "Settings", "Changed", "Actions"]}>
          {templates.map((template) => (
            <Row key={template.id} template={template} />
          ))}
        </Table>
      )}
      <Recipes />
    </>
  );
}

function Row({ template: { id, name, description, spec, updated_at } }: { template: Template }) {
  const fields = differences({}, spec as JsonObject).length;
  return (
    <tr className={styles.template} data-template={id}>
      <th scope="row">
        {name}
        {description && <small>{description}</small>}
      </th>
      <td>
        <details>
          <summary aria-label={`${count(fields, "field")} of ${name}`}>{count(fields, "field")}</summary>
          <CodeBlock label="Spec" code={JSON.stringify(spec, null, 2)} />
        </details>
      </td>
      <td>
        <TimeAgo time={updated_at} />
      </td>
      <td>
        <div>
          <Link className={buttonClass()} to={paths.newJob({ template: id })} aria-label={`Use ${name}`}>
            Use
          </Link>
          <Delete id={id} name={name} />
        </div>
      </td>
    </tr>
  );
}

function Delete({ id, name }: Pick<Template, "id" | "name">) {
  const client = useQueryClient();
  return (
    <ConfirmButton
      button="Delete"
      label={`Delete ${name}`}
      title={`Delete ${name}?`}
      confirm="Delete it"
      keep="Keep it"
      action={async () => {
        await deleteTemplate(id);
        await client.invalidateQueries({ queryKey: templatesQuery.queryKey });
      }}
      done={`The template ${name} is deleted.`}
    >
      <p>The jobs that were made from it stay. A deleted template cannot be restored.</p>
    </ConfirmButton>
  );
}
