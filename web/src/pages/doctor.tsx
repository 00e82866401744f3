/** Checks of this machine that affect measurement quality. */

import { Panel, Title, Wrong } from "../parts";
import { usePoll } from "../poll";
import type { DoctorCheck } from "../types";

const LOOKS: Record<DoctorCheck["status"], [string, string]> = {
  bad: ["✕ bad", "bad"],
  note: ["• note", "muted"],
  good: ["✓ good", "good"],
};
const WORST_FIRST = Object.keys(LOOKS);

export function Doctor() {
  const doctor = usePoll<DoctorCheck[]>("doctor", 0);
  const sorted = [...(doctor.value ?? [])].sort((a, b) => WORST_FIRST.indexOf(a.status) - WORST_FIRST.indexOf(b.status));
  return (
    <>
      <Title name="Doctor" />
      <Panel title="Machine checks">
        <div class="row spread">
          <p>System checks that affect measurement quality, worst first.</p>
          <button type="button" onClick={() => doctor.again()}>
            Check again
          </button>
        </div>
        <Wrong problem={doctor.problem} />
        {!doctor.value && !doctor.problem && <p class="empty">Checking …</p>}
        {sorted.length > 0 && (
          <div class="scroll">
            <table class="stack">
              <caption class="hidden">Checks of this machine</caption>
              <thead>
                <tr>
                  <th>Status</th>
                  <th>Check</th>
                  <th>Found</th>
                  <th>Effect and remedy</th>
                </tr>
              </thead>
              <tbody>
                {sorted.map((check, i) => (
                  <tr key={i}>
                    <td class={`id ${LOOKS[check.status][1]}`}>{LOOKS[check.status][0]}</td>
                    <td>{check.check}</td>
                    <td>{check.found}</td>
                    <td>
                      {check.why}
                      {check.remedy && <div>→ {check.remedy}</div>}
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
