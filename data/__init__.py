"""The dataset library. It imports no other package of the project.

`schema`, `parse` and `rows` read rows; `splits` and `overlap` compare their prompts. `files/` opens source files and `formats/`
reads their records, with the column aliases in `names`. An import runs `detect`, `plan`, `record_to_rows` and `convert`;
`preview` shows its first rows. `export` writes stored rows for other programs, and `report/` measures them.
"""
