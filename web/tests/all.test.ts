/** Unit tests of what needs no browser. */

import "./curve.test";
import "./events.test";
import "./format.test";
import "./history.test";
import "./order.test";
