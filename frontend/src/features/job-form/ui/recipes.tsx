import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { buttonClass } from "@/components/button";
import { ErrorNotice } from "@/components/notice";
import { Table } from "@/components/table";
import { CodeBlock } from "@/components/text";
import { recipesQuery } from "@/features/job-form/api";
import { type Recipe, specOf } from "@/features/job-form/model/recipe";
import { differences } from "@/features/job-form/model/spec";
import { paths } from "@/lib/address";
import { count } from "@/lib/format";
import styles from "./form.module.css";

/** The documented recipes, each with a job from it. */
export function Recipes() {
  const query = useQuery(recipesQuery);
  const recipes = query.data ?? [];
  if (query.isError)
    return <ErrorNotice error={query.error} doing="load the recipes" onRetry={() => void query.refetch()} />;
  if (!recipes.length) return null;
  return (
    <section className={styles.recipes} aria-labelledby="recipes">
      <h2 id="recipes">Recipes</h2>
      <p>
        The recipes of the documentation. Each has the settings of its example, mostly with a small model of its own.
        You choose the datasets.
      </p>
      <Table label="Recipes" head={["Recipe", "Settings", "Actions"]}>
        {recipes.map((recipe) => (
          <Row key={recipe.name} recipe={recipe} />
        ))}
      </Table>
    </section>
  );
}

function Row({ recipe }: { recipe: Recipe }) {
  const [open, setOpen] = useState(false);
  const spec = specOf(recipe);
  const fields = count(differences({}, spec).length, "field");
  return (
    <tr className={styles.template} data-recipe={recipe.name}>
      <th scope="row">
        {recipe.title}
        <small>{recipe.description}</small>
      </th>
      <td>
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary aria-label={`${fields} of ${recipe.title}`}>{fields}</summary>
          {open && <CodeBlock label="Spec" code={JSON.stringify(spec, null, 2)} />}
        </details>
      </td>
      <td>
        <Link
          className={buttonClass()}
          to={paths.newJob({ recipe: recipe.name })}
          aria-label={`Use the recipe ${recipe.title}`}
        >
          Use
        </Link>
      </td>
    </tr>
  );
}
