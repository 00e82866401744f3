/** Test methods: starting one, and the list of campaigns. */

import { useState } from "preact/hooks";
import { useDraft, useKept } from "../draft";
import { asked, ProfileEditor } from "../editor";
import { duration, instant, seconds } from "../format";
import { Action, Badge, Panel, Title, Wrong } from "../parts";
import { usePoll } from "../poll";
import { go, to } from "../route";
import { call } from "../server";
import type { Campaign, Method } from "../types";
import { useMayRun } from "../who";

export function Campaigns() {
  const campaigns = usePoll<Campaign[]>("campaigns", 2_000);
  const mayRun = useMayRun();
  return (
    <>
      <Title name="Campaigns" />
      <Panel title="Campaigns since the server was started">
        <Wrong problem={campaigns.problem} />
        {campaigns.value && <List campaigns={campaigns.value} />}
      </Panel>
      {mayRun && <Start />}
    </>
  );
}

function List({ campaigns }: { campaigns: Campaign[] }) {
  if (!campaigns.length) return <p class="empty">None since the server started. Earlier ones are in the results.</p>;
  return (
    <div class="scroll">
      <table>
        <caption class="hidden">Campaigns</caption>
        <thead>
          <tr>
            <th>Campaign</th>
            <th>Method</th>
            <th>State</th>
            <th class="n">Trials</th>
            <th class="n">Left</th>
            <th>Started</th>
          </tr>
        </thead>
        <tbody>
          {campaigns.map((campaign) => (
            <tr key={campaign.id}>
              <td>
                <a href={to("campaigns", campaign.id)}>{campaign.name || campaign.id}</a>
              </td>
              <td>{campaign.method}</td>
              <td>
                <Badge state={campaign.state} overall={campaign.overall} />
              </td>
              <td class="n">{campaign.trials_done}</td>
              <td class="n">{duration(campaign.left_s)}</td>
              <td>{instant(campaign.started)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Start() {
  const methods = usePoll<Method[]>("methods", 0);
  const [method, setMethod] = useKept("campaigns.method", "");
  const [chosen, choose] = useDraft("campaigns");
  const [quick, setQuick] = useKept("campaigns.quick", true);
  const [more, setMore] = useKept("campaigns.more", { sizes: "", trial_s: "", name: "" });
  const [settings, setSettings] = useKept<Record<string, string>>("campaigns.settings", {});
  const [wrong, setWrong] = useState<unknown>(null);
  const name = method || methods.value?.[0]?.name || "";
  const selected = methods.value?.find((one) => one.name === name);
  const start = async () => {
    const body: Record<string, unknown> = { method: name, quick, ...asked(chosen) };
    const sizes = more.sizes.split(/[,\s]+/).filter(Boolean);
    if (sizes.length) body.sizes = sizes;
    if (more.name.trim()) body.name = more.name.trim();
    if (more.trial_s.trim()) body.trial_s = seconds(more.trial_s);
    const set = Object.fromEntries(Object.entries(settings).filter(([, value]) => value.trim()));
    if (Object.keys(set).length) body.set = set;
    const campaign = await call<Campaign>("POST", "campaigns", body);
    go("campaigns", campaign.id);
  };
  const field = (key: keyof typeof more, label: string, hint: string) => (
    <label class="small">
      {label}
      <input value={more[key]} placeholder={hint} onInput={(event) => setMore({ ...more, [key]: event.currentTarget.value })} />
    </label>
  );
  return (
    <Panel title="Start a test method">
      <Wrong problem={methods.problem} />
      <label>
        Method
        <select value={name} onChange={(event) => (setMethod(event.currentTarget.value), setSettings({}))}>
          {methods.value?.map((one) => (
            <option key={one.name} value={one.name}>
              {one.name}
            </option>
          ))}
        </select>
      </label>
      <p class="muted">{selected?.about}</p>
      <ProfileEditor chosen={chosen} choose={choose} />
      {selected && <Settings method={selected} settings={settings} set={setSettings} />}
      <div class="row end">
        <label class="check">
          <input type="checkbox" checked={quick} onChange={(event) => setQuick(event.currentTarget.checked)} /> quick: minutes instead of hours
        </label>
        {field("sizes", "Frame lengths", "64B,imix")}
        {field("trial_s", "Trial duration", "from the method")}
        {field("name", "Name of the campaign", "from the profile")}
        <Action does={start} failed={setWrong} look="main" disabled={!chosen.good || !name}>
          ▶ Start
        </Action>
      </div>
      <Wrong problem={wrong} />
    </Panel>
  );
}

/** A setting as a user types it. */
const written = (value: unknown): string => (Array.isArray(value) ? value.map(written).join(",") : typeof value === "object" ? JSON.stringify(value) : String(value));

/** Settings of the method's parts; empty ones keep their defaults. */
function Settings({ method, settings, set }: { method: Method; settings: Record<string, string>; set: (next: Record<string, string>) => void }) {
  const parts = method.parts.filter((part) => Object.keys(part.settings).length);
  if (!parts.length) return null;
  return (
    <details>
      <summary>Method settings</summary>
      {parts.map((part) => (
        <fieldset key={part.name}>
          <legend>{part.name}</legend>
          <div class="row end">
            {Object.entries(part.settings).map(([name, value]) => {
              const key = `${part.name}.${name}`;
              return (
                <label class="small" key={key}>
                  {name.replaceAll("_", " ")}
                  <input value={settings[key] ?? ""} placeholder={written(value)} onInput={(event) => set({ ...settings, [key]: event.currentTarget.value })} />
                </label>
              );
            })}
          </div>
        </fieldset>
      ))}
    </details>
  );
}
