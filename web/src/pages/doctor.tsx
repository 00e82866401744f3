/** What is wrong with this machine for measuring. */

import { Panel, Title, Wrong } from "../parts";
import { usePoll } from "../poll";
import type { Symptom } from "../types";

const LOOKS: Record<Symptom["status"], [string, string]> = {
  bad: ["✕ bad", "bad"],
  warning: ["⚠ warning", "warn"],
  note: ["• note", "muted"],
  good: ["✓ good", "good"],
};
const WORST_FIRST = Object.keys(LOOKS);

export function Doctor() {
  const doctor = usePoll<Symptom[]>("doctor", 0);
  const sorted = [...(doctor.value ?? [])].sort((a, b) => WORST_FIRST.indexOf(a.status) - WORST_FIRST.indexOf(b.status));
  return (
    <>
      <Title name="Doctor" />
      <Panel title="This machine, as a tester">
        <div class="row spread">
          <p>What here makes results worse than they could be, worst first.</p>
          <button type="button" onClick={() => doctor.again()}>
            Look again
          </button>
        </div>
        <Wrong problem={doctor.problem} />
        {!doctor.value && !doctor.problem && <p class="empty">Looking …</p>}
        {sorted.length > 0 && (
          <div class="scroll">
            <table class="stack">
              <caption class="hidden">Findings of the doctor</caption>
              <thead>
                <tr>
                  <th>Status</th>
                  <th>Check</th>
                  <th>Found</th>
                  <th>What it means, and what helps</th>
                </tr>
              </thead>
              <tbody>
                {sorted.map((symptom, i) => (
                  <tr key={i}>
                    <td class={`id ${LOOKS[symptom.status]?.[1] ?? ""}`}>{LOOKS[symptom.status]?.[0] ?? symptom.status}</td>
                    <td>{symptom.check}</td>
                    <td>{symptom.found}</td>
                    <td>
                      {symptom.why}
                      {symptom.remedy && <div>→ {symptom.remedy}</div>}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Panel>
    </>
  );
}
