/** Unit tests of what needs no browser. */

import "./events.test";
import "./format.test";
import "./history.test";
import "./order.test";
