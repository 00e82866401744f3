/** A form that starts common tests: kind of test, ports of this machine, addresses and rates; beside it the profile it writes. */

import { useRef, useState } from "preact/hooks";
import { draftOf, keepDraft, useDraft, useKept } from "../draft";
import { Before, edited, Findings, instead, ProfileText, useChecked } from "../editor";
import { type Field, fields, label, owner, replaced } from "../fields";
import { si } from "../format";
import { Action, Panel, Title, Wrong } from "../parts";
import { usePoll } from "../poll";
import { go } from "../route";
import { call } from "../server";
import type { Campaign, Method, Port, ProfileKind, Run } from "../types";
import { useMayRun } from "../who";

/** The user's own profile: of a run that is to be edited, or pasted. */
export const OWN = "own";

/** Opens the form on a profile. */
export function edit(profile: string): void {
  keepDraft(`form.${OWN}`, instead(draftOf(`form.${OWN}`), profile));
  go("start", OWN);
}

export function StartPage({ kind }: { kind: string | undefined }) {
  const kinds = usePoll<ProfileKind[]>("kinds", 0);
  const mayRun = useMayRun();
  const name = kind ?? kinds.value?.[0]?.name ?? "";
  const known = kinds.value?.find((one) => one.name === name);
  return (
    <>
      <Title name="Start a test" />
      <Wrong problem={kinds.problem} />
      {!mayRun && <p class="note warn">⚠ Your token may only watch: you cannot start anything.</p>}
      <label>
        Kind of test
        <select value={name} onChange={(event) => go("start", event.currentTarget.value)}>
          {kinds.value?.map((one) => (
            <option key={one.name} value={one.name}>
              {one.about}
            </option>
          ))}
          <option value={OWN}>your own profile</option>
        </select>
      </label>
      {(known || name === OWN) && <Form key={name} name={name} kind={known ?? null} mayRun={mayRun} />}
    </>
  );
}

function Form({ name, kind, mayRun }: { name: string; kind: ProfileKind | null; mayRun: boolean }) {
  const [draft, choose] = useDraft(`form.${name}`);
  const ports = usePoll<Port[]>("ports", 2_000);
  const methods = usePoll<Method[]>("methods", 0);
  const [method, setMethod] = useKept(`form.${name}.method`, kind?.method ?? "");
  const [wrong, setWrong] = useState<unknown>(null);
  const show = useRef<(line: number) => void>(() => undefined);
  const chosen = draft.text || !kind ? draft : { ...draft, text: kind.profile };
  const trouble = useChecked(chosen, choose);
  const write = (text: string) => choose(edited(chosen, text));
  const start = async () => {
    if (method) {
      const campaign = await call<Campaign>("POST", "campaigns", { method, quick: true, profile: chosen.text });
      return go("campaigns", campaign.id);
    }
    const run = await call<Run>("POST", "runs", { profile: chosen.text, name: kind ? kind.name : undefined, keep: true });
    return go("runs", run.id);
  };
  const asked = fields(chosen.text).filter((field) => label(field) !== null);
  const owners = [...new Set(asked.map(owner))];
  return (
    <div class="columns">
      <Panel title="Settings">
        {owners.map((one) => (
          <fieldset key={one}>
            <legend>{one}</legend>
            <div class="row end">
              {asked.filter((field) => owner(field) === one).map((field) => (
                <Setting key={field.path.join(".")} field={field} ports={ports.value ?? []} set={(value) => write(replaced(chosen.text, field, value))} />
              ))}
            </div>
          </fieldset>
        ))}
        {!owners.length && <p class="empty">Values of the profile appear here.</p>}
        <div class="row end">
          <label>
            How
            <select value={method} onChange={(event) => setMethod(event.currentTarget.value)}>
              <option value="">run it once</option>
              {methods.value?.map((one) => (
                <option key={one.name} value={one.name}>
                  {one.name}, quick
                </option>
              ))}
            </select>
          </label>
          {mayRun && (
            <Action does={start} failed={setWrong} look="main" disabled={!chosen.good}>
              ▶ Start
            </Action>
          )}
          {kind && draft.text && draft.text !== kind.profile && (
            <button type="button" onClick={() => choose(instead(chosen, kind.profile))}>
              Begin anew
            </button>
          )}
          <Before chosen={chosen} choose={choose} />
        </div>
        <Wrong problem={wrong ?? trouble} />
        <Findings chosen={chosen} show={(line) => show.current(line)} />
      </Panel>
      <Panel title="The profile it writes">
        <ProfileText text={chosen.text} edit={write} errors={chosen.check?.errors ?? null} show={show} />
      </Panel>
    </div>
  );
}

function Setting({ field, ports, set }: { field: Field; ports: Port[]; set: (value: string) => void }) {
  const name = label(field);
  if (field.path[field.path.length - 1] !== "device") {
    return (
      <label class="small">
        {name}
        <input value={field.value} onInput={(event) => set(event.currentTarget.value)} />
      </label>
    );
  }
  const here = ports.filter((port) => port.allowed);
  const isIt = (port: Port) => [port.device, port.name].includes(field.value) || field.value.endsWith(`:${port.name}`);
  return (
    <label>
      {name}
      <select value={field.value} onChange={(event) => set(event.currentTarget.value)}>
        {!here.some(isIt) && <option value={field.value}>{field.value}: not on this machine</option>}
        {here.map((port) => {
          const value = isIt(port) ? field.value : port.kind === "interface" ? port.name : port.device;
          return (
            <option key={port.name} value={value} disabled={!!port.lease}>
              {port.name}
              {port.speed_bps != null && `, ${si(port.speed_bps, "bps")}`}
              {port.lease ? `, leased by ${port.lease.holder}` : port.up ? "" : ", down"}
            </option>
          );
        })}
      </select>
    </label>
  );
}
