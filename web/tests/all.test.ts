/** Unit tests of what needs no browser. */

import "./curve.test";
import "./disturbance.test";
import "./events.test";
import "./fields.test";
import "./format.test";
import "./history.test";
import "./order.test";
import "./place.test";
import "./schema.test";
