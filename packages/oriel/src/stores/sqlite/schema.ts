// The tables of the SQLite store, and every step that led to them. Steps are kept for ever; a new one is added at the end.

/** One step: the schema's version after it, and the SQL that leads there from the version before. */
export interface Migration {
  readonly version: number
  readonly sql: string
}

/** Written into the file's header, so that a foreign database is recognised: "Oril" in ASCII. */
export const applicationId = 0x4f72696c

/*
 * Why the tables look like this:
 * - `entries` has a plain integer key in order of arrival, so that its pages fill up completely and the newest entry of the
 *   whole store is the one with the highest id (the high-water mark relies on it; rows are never deleted). A table clustered
 *   by thread needed 1.4 to 1.8 bytes on disk per byte of content, this one 1.2.
 * - `body` is the entry's JSON text without its large strings; `cuts` says where which blob goes, as [[offset, blob id], ...].
 * - Long texts are compressed: `packed` then stands in the place of `body`, or of a snapshot's `value`, which is empty. A blob says by
 *   `packed` whether its content is. Hashes are always of the plain text.
 * - `external` is a salted hash of the caller's id: 8 bytes in the index instead of the id, and nothing to erase.
 * - `uses` says which thread needs which blob. Thread 0 stands for a blob that was put and that no entry names yet.
 * - A thread without `salt` was erased. A row in `erasures` says that deleted content may still be in the write-ahead log, or in free
 *   pages of a file that was not written with `secure_delete` from the start (its `auto_vacuum` is off): that one must be rewritten.
 * - `indexed` is how much of a log stands in `passages` and `search`. Tokens are made before they come here: the tokenizer splits at spaces
 *   only. Each row of `search` also has the names of its tenant and thread as tokens (hashed, behind a colon), so that FTS5 itself finds
 *   those of one thread. The index keeps no text: the tokens of a passage stand beside it, compressed where they are long, since taking
 *   them out of the index needs them. What was indexed before version 5 is indexed again when it is next searched. `secure-delete` takes tokens out of the index at once, where FTS5 would only note that they are gone.
 * - The tokens of a passage are kept as a bag: each once, with its count. From version 7 on the record of a request is compressed with one
 *   before it as the dictionary, whose seq stands in front.
 * - An id in `passages` and `search` is a number that grows, times 16, and the passage's hint. `analysis` is the analysis that a thread is
 *   indexed by: with an older one, it is indexed again batch by batch when it is next searched.
 * - From version 2 on every writer overwrites what it deletes; an older one must not write to the file.
 */
export const migrations: readonly Migration[] = [
  {
    version: 1,
    sql: `
      create table threads (
        id integer primary key,
        tenant text not null,
        thread text not null,
        version integer not null,
        head blob not null,
        salt text,
        bytes integer not null,
        created_at integer not null,
        updated_at integer not null,
        unique (tenant, thread)
      ) strict;
      create table entries (
        id integer primary key,
        thread integer not null references threads (id),
        seq integer not null,
        form integer not null,
        type text not null,
        content blob not null,
        header blob not null,
        external blob,
        cuts text,
        body text,
        unique (thread, seq)
      ) strict;
      create index entries_external on entries (thread, external) where external is not null;
      create table blobs (
        id integer primary key,
        tenant text not null,
        hash blob not null,
        content blob not null,
        unique (tenant, hash)
      ) strict;
      create table uses (
        thread integer not null,
        blob integer not null references blobs (id),
        primary key (thread, blob)
      ) strict, without rowid;
      create index uses_blob on uses (blob);
      create table snapshots (
        thread integer primary key references threads (id),
        version integer not null,
        format integer not null,
        head blob not null,
        hash blob not null,
        value text not null
      ) strict;
      create table erasures (id integer primary key) strict;
    `,
  },
  {
    version: 2,
    sql: `
      create index threads_newest on threads (tenant, updated_at desc, thread) where salt is not null;
    `,
  },
  {
    version: 3,
    sql: `
      create table key_values (
        tenant text not null,
        space text not null,
        name text not null,
        value text not null,
        primary key (tenant, space, name)
      ) strict, without rowid;
    `,
  },
  {
    version: 4,
    sql: `
      alter table threads add column indexed integer not null default 0;
      alter table threads add column messages integer not null default 0;
      alter table threads add column passages integer not null default 0;
      create index threads_unindexed on threads (tenant, thread) where salt is not null and indexed < version;
      create table passages (
        id integer primary key,
        thread integer not null references threads (id),
        seq integer not null,
        position integer not null,
        block integer not null,
        inner integer,
        start integer not null,
        stop integer not null,
        open integer not null,
        speaker text not null
      ) strict;
      create index passages_thread on passages (thread);
      create virtual table search using fts5 (
        tokens, detail = none, columnsize = 0, tokenize = "ascii tokenchars '._-/:@#+'"
      );
      insert into search (search, rank) values ('secure-delete', 1);
    `,
  },
  {
    version: 5,
    sql: `
      alter table entries add column packed blob;
      alter table snapshots add column packed blob;
      alter table blobs add column packed integer not null default 0;
      alter table passages add column tokens blob;
      delete from passages;
      update threads set indexed = 0, messages = 0, passages = 0;
      drop table search;
      create virtual table search using fts5 (
        tokens, content = '', detail = none, columnsize = 0, tokenize = "ascii tokenchars '._-/:@#+'"
      );
      insert into search (search, rank) values ('secure-delete', 1);
    `,
  },
  {
    version: 6,
    sql: `
      alter table threads add column analysis integer not null default 1;
      create index threads_analysis on threads (tenant, analysis);
      create index threads_passages on threads (tenant, passages);
      drop index passages_thread;
      create index passages_thread on passages (thread, seq);
    `,
  },
  // Only what stands in the packed columns is new: a version before this one cannot read it.
  { version: 7, sql: '' },
]
