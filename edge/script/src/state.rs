//! A Lua state with the library in it, and the library's calls to Rust off the packet path.

use crate::abi::{self, API};
use crate::buffers::{CDEF, OFFSETS};
use crate::library::MODULES;
use crate::shared::Item;
use crate::steer::{Rule, Tuple};
use crate::tasks::TaskState;
use crate::traffic::{Kind, NewRate};
use crate::values;
use crate::world::World;
use filter::Filter;
use mlua::{Function, Lua, LuaOptions, LuaString, StdLib, Table, Value};
use std::ffi::c_void;
use std::fs::File;
use std::ptr;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Bytes of a packet a filter may look at.
const SNAP_LEN: u32 = 65_535;
/// Conditions that did not hold of which the text is kept.
const UNMET_MAX: usize = 1_000;
/// Filters and capture files of one script.
const OPEN_MAX: usize = 1_024;

/// Runs the script's first task: `configure`, then `master`.
pub(crate) fn run_master(world: &'static World) -> Result<(), String> {
    let start = || {
        let lua = state(world, None)?;
        lua.load("require 'eagre.main'.master()").set_name("=eagre").exec()
    };
    start().map_err(reason)
}

/// Runs another task: loads the script and calls `function`; returns what that returns, serialized.
pub(crate) fn run_task(
    world: &'static World,
    id: usize,
    function: &str,
    arguments: &[u8],
) -> Result<Vec<u8>, String> {
    let start = || {
        let lua = state(world, Some(id))?;
        let task: Function = lua.load("return require 'eagre.main'.task").set_name("=eagre").eval()?;
        let result: LuaString = task.call((function, lua.create_string(arguments)?))?;
        Ok(result.as_bytes().to_vec())
    };
    start().map_err(reason)
}

fn reason(error: mlua::Error) -> String {
    match error {
        mlua::Error::RuntimeError(text) => text,
        // The library has printed it where it happened.
        mlua::Error::CallbackError { traceback, cause } => format!("{cause}\n{traceback}"),
        other => other.to_string(),
    }
}

fn state(world: &'static World, task: Option<usize>) -> mlua::Result<Lua> {
    // SAFETY: a script may do what a C program may: the process is its own, and confined.
    let lua = unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::default()) };
    let native = lua.create_table()?;
    let address = ptr::from_ref(&API).cast_mut().cast::<c_void>();
    native.set("api", Value::LightUserData(mlua::LightUserData(address)))?;
    native.set("cdef", format!("{CDEF}{}", abi::CDEF))?;
    native.set("offsets", lua.create_table_from(OFFSETS)?)?;
    native.set("script", world.source.path.to_string_lossy().into_owned())?;
    native.set("text", lua.create_string(&world.source.text)?)?;
    native.set("arguments", world.source.arguments.clone())?;
    native.set("colour", world.source.colour)?;
    native.set("task_id", task)?;
    native.set("devices", world.devices.len())?;
    let longest = world.devices.iter().map(|device| device.longest).max().unwrap_or(0);
    native.set("longest_packet", longest)?;
    add_tasks(&lua, &native, world)?;
    add_shared(&lua, &native, world)?;
    add_pipes(&lua, &native, world)?;
    add_devices(&lua, &native, world)?;
    add_rules(&lua, &native, world)?;
    add_files(&lua, &native, world)?;
    add_traffic(&lua, &native, world)?;
    let package: Table = lua.globals().get("package")?;
    let preload: Table = package.get("preload")?;
    preload.set("eagre.native", lua.create_function(move |_, ()| Ok(native.clone()))?)?;
    for &(name, text) in MODULES {
        let load = move |lua: &Lua, ()| -> mlua::Result<Value> {
            lua.load(text).set_name(format!("@eagre/{name}.lua")).call(name)
        };
        preload.set(name, lua.create_function(load)?)?;
    }
    Ok(lua)
}

/// Tasks, and the script's result.
fn add_tasks(lua: &Lua, to: &Table, world: &'static World) -> mlua::Result<()> {
    let start = move |_: &Lua, (name, arguments): (String, LuaString)| {
        world.tasks.start(world, &name, arguments.as_bytes().to_vec()).map_err(mlua::Error::runtime)
    };
    to.set("start_task", lua.create_function(start)?)?;
    let state = move |lua: &Lua, id: usize| match world.tasks.state(id) {
        Some(TaskState::Running) => Ok(("running", None)),
        Some(TaskState::Done(result)) => Ok(("done", Some(lua.create_string(result)?))),
        Some(TaskState::Failed(_)) | None => Ok(("failed", None)),
    };
    to.set("task_state", lua.create_function(state)?)?;
    let wait = move |_: &Lua, ()| Ok(world.tasks.wait_for_all(None));
    to.set("wait_for_tasks", lua.create_function(wait)?)?;
    let exit = move |_: &Lua, code: i32| -> mlua::Result<()> {
        world.exit(code);
        Err(mlua::Error::runtime("the script ends itself"))
    };
    to.set("exit", lua.create_function(exit)?)?;
    to.set("is_exiting", lua.create_function(move |_, ()| Ok(world.exit_code().is_some()))?)?;
    let failed = move |_: &Lua, text: String| {
        let mut unmet = world.unmet.lock().unwrap_or_else(PoisonError::into_inner);
        if unmet.len() < UNMET_MAX {
            unmet.push(text);
        }
        Ok(())
    };
    to.set("expectation_failed", lua.create_function(failed)?)?;
    let result = move |_: &Lua, text: String| {
        *world.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        Ok(())
    };
    to.set("set_result", lua.create_function(result)?)
}

/// Named tables, locks, barriers.
fn add_shared(lua: &Lua, to: &Table, world: &'static World) -> mlua::Result<()> {
    let shared = &world.shared;
    let get = move |lua: &Lua, (space, key): (String, String)| {
        shared.value(&space, &key).map(|value| lua.create_string(value)).transpose()
    };
    to.set("space_get", lua.create_function(get)?)?;
    let set = move |_: &Lua, (space, key, value): (String, String, Option<LuaString>)| {
        shared.set_value(&space, &key, value.map(|value| value.as_bytes().to_vec()));
        Ok(())
    };
    to.set("space_set", lua.create_function(set)?)?;
    to.set("space_keys", lua.create_function(move |_, space: String| Ok(shared.keys(&space)))?)?;
    to.set("space_lock", lua.create_function(move |_, space: String| Ok(shared.lock_of(&space)))?)?;
    to.set("lock_new", lua.create_function(move |_, ()| Ok(shared.new_lock()))?)?;
    let lock =
        move |_: &Lua, (lock, seconds): (usize, Option<f64>)| Ok(shared.lock(lock, seconds.map(duration)));
    to.set("lock_take", lua.create_function(lock)?)?;
    let unlock = move |_: &Lua, lock: usize| {
        shared.unlock(lock);
        Ok(())
    };
    to.set("lock_release", lua.create_function(unlock)?)?;
    to.set("barrier_new", lua.create_function(move |_, n: usize| Ok(shared.new_barrier(n)))?)?;
    let resize = move |_: &Lua, (barrier, n): (usize, usize)| {
        shared.resize_barrier(barrier, n);
        Ok(())
    };
    to.set("barrier_resize", lua.create_function(resize)?)?;
    let wait = move |_: &Lua, barrier: usize| {
        shared.wait_at(world, barrier);
        Ok(())
    };
    to.set("barrier_wait", lua.create_function(wait)?)
}

/// Pipes with serialized values; those with pointers are in `abi`.
fn add_pipes(lua: &Lua, to: &Table, world: &'static World) -> mlua::Result<()> {
    let shared = &world.shared;
    to.set("pipe_new", lua.create_function(move |_, ()| Ok(shared.new_pipe()))?)?;
    let send = move |_: &Lua, (pipe, value): (usize, LuaString)| {
        Ok(shared.send(world, pipe, &[Item::Text(value.as_bytes().to_vec())], true))
    };
    to.set("pipe_send", lua.create_function(send)?)?;
    let receive = move |lua: &Lua, (pipe, seconds): (usize, Option<f64>)| match shared.receive(
        world,
        pipe,
        seconds.map(duration),
    ) {
        Some(Item::Text(value)) => lua.create_string(value).map(Some),
        _ => Ok(None),
    };
    to.set("pipe_receive", lua.create_function(receive)?)?;
    to.set("pipe_count", lua.create_function(move |_, pipe: usize| Ok(shared.count(pipe)))?)
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

/// Devices: what they are, and their settings.
fn add_devices(lua: &Lua, to: &Table, world: &'static World) -> mlua::Result<()> {
    let facts = move |lua: &Lua, number: u32| -> mlua::Result<Option<Table>> {
        let Some(device) = world.device(number) else { return Ok(None) };
        let table = lua.create_table()?;
        let mac = device.facts.mac.map(|byte| format!("{byte:02x}")).join(":");
        table.set("mac", mac)?;
        table.set("driver", device.facts.driver.as_str())?;
        table.set("device", device.facts.device.as_str())?;
        // A link without a speed of its own counts as 10 Gbit/s.
        table.set("speed", device.facts.speed_bps.unwrap_or(10_000_000_000) / 1_000_000)?;
        Ok(Some(table))
    };
    to.set("device", lua.create_function(facts)?)?;
    let configure = move |_: &Lua, (number, rx_queues): (u32, usize)| {
        Ok(world.device(number).and_then(|device| device.configure(rx_queues).err()))
    };
    to.set("configure", lua.create_function(configure)?)?;
    let rate = move |_: &Lua, (number, queue, mbit): (u32, usize, f64)| {
        if let Some(device) = world.device(number) {
            device.set_rate(queue, mbit);
        }
        Ok(())
    };
    to.set("set_rate", lua.create_function(rate)?)?;
    let strip = move |_: &Lua, (number, on): (u32, bool)| {
        if let Some(device) = world.device(number) {
            device.strip_vlan.store(u64::from(on), Ordering::Relaxed);
        }
        Ok(())
    };
    to.set("strip_vlan", lua.create_function(strip)?)?;
    let drops = move |lua: &Lua, number: u32| {
        let drops = world.device(number).map(crate::device::Device::driver_drops).unwrap_or_default();
        let named = |way: &'static str, list: Vec<(&'static str, u64)>| {
            list.into_iter().map(move |(name, n)| (format!("{way}_{name}"), n))
        };
        lua.create_table_from(named("rx", drops.rx).chain(named("tx", drops.tx)))
    };
    to.set("drops", lua.create_function(drops)?)
}

/// Filters of devices.
fn add_rules(lua: &Lua, to: &Table, world: &'static World) -> mlua::Result<()> {
    let rule = move |_: &Lua, (number, queue, rule): (u32, i32, Table)| {
        let Some(device) = world.device(number) else { return Ok(false) };
        let kind: String = rule.get("kind")?;
        let rule = match kind.as_str() {
            "ethertype" => Rule::EtherType(rule.get("type")?),
            "ptp" => Rule::UdpPtp { kind: rule.get("message")?, version: rule.get("version")? },
            "udp" => Rule::Udp,
            "tuple" => Rule::FiveTuple { want: tuple(&rule.get("want")?)?, mask: tuple(&rule.get("mask")?)? },
            other => return Err(mlua::Error::runtime(format!("no filter is called '{other}'"))),
        };
        Ok(device.steering.write().unwrap_or_else(PoisonError::into_inner).add(rule, queue))
    };
    to.set("add_rule", lua.create_function(rule)?)?;
    let spread = move |_: &Lua, (number, queues, base): (u32, u32, u32)| {
        if let Some(device) = world.device(number) {
            let mut steering = device.steering.write().unwrap_or_else(PoisonError::into_inner);
            (steering.rss_queues, steering.rss_base) = (queues, base);
        }
        Ok(())
    };
    to.set("spread", lua.create_function(spread)?)
}

fn tuple(table: &Table) -> mlua::Result<Tuple> {
    // Numbers of Lua may be negative: bit operations return signed ones.
    let number = |key: &str| table.get::<Option<f64>>(key).map(|value| value.unwrap_or(0.0) as i64);
    Ok(Tuple {
        src: number("src")? as u32,
        dst: number("dst")? as u32,
        src_port: number("src_port")? as u16,
        dst_port: number("dst_port")? as u16,
        protocol: number("protocol")? as u8,
    })
}

/// Streams and sessions. Functions that can fail return a value, or nothing and the reason.
fn add_traffic(lua: &Lua, to: &Table, world: &'static World) -> mlua::Result<()> {
    type Answer<T> = mlua::Result<(Option<T>, Option<String>)>;
    fn answer<T>(result: Result<T, String>) -> Answer<T> {
        Ok(match result {
            Ok(value) => (Some(value), None),
            Err(reason) => (None, Some(reason)),
        })
    }
    fn kind(name: &str) -> Kind {
        if name == "stream" { Kind::Stream } else { Kind::Session }
    }
    let traffic = &world.traffic;
    let declare = move |_: &Lua, (what, table): (String, Table)| {
        let named = |reason| match table.raw_get::<String>("name") {
            Ok(name) => format!("{what} '{name}': {reason}"),
            Err(_) => format!("eagre.{what}: {reason}"),
        };
        answer(values::object(&table).map_err(named).and_then(|entry| traffic.declare(kind(&what), entry)))
    };
    to.set("traffic_declare", lua.create_function(declare)?)?;
    let port = move |_: &Lua, (number, table): (usize, Table)| {
        let settings = values::object(&table).map_err(|reason| format!("port {number}: {reason}"));
        answer(settings.and_then(|settings| traffic.set_port(world, number, settings)).map(|()| true))
    };
    to.set("traffic_port", lua.create_function(port)?)?;
    let start = move |_: &Lua, table: Table| {
        answer(values::object(&table).and_then(|options| traffic.start(world, options)).map(|()| true))
    };
    to.set("traffic_start", lua.create_function(start)?)?;
    let wait = move |lua: &Lua, ()| {
        answer(traffic.wait(world).and_then(|document| values::to_lua(lua, &document).map_err(reason)))
    };
    to.set("traffic_wait", lua.create_function(wait)?)?;
    let stop = move |_: &Lua, ()| {
        traffic.stop();
        Ok(())
    };
    to.set("traffic_stop", lua.create_function(stop)?)?;
    to.set("traffic_running", lua.create_function(move |_, ()| Ok(traffic.is_running()))?)?;
    let rate = move |_: &Lua, (what, name, rate): (String, String, Value)| {
        let rate = match &rate {
            Value::String(text) => NewRate::Text(text.to_string_lossy()),
            Value::Integer(number) => NewRate::Number(*number as f64),
            Value::Number(number) => NewRate::Number(*number),
            other => {
                let given = other.type_name();
                return answer(Err(format!(
                    "{what} '{name}': rate: expected a text or a number, not a {given}"
                )));
            }
        };
        answer(traffic.set_rate(kind(&what), &name, rate))
    };
    to.set("traffic_rate", lua.create_function(rate)?)?;
    let pause = move |_: &Lua, (what, name, paused): (String, String, bool)| {
        answer(traffic.pause(kind(&what), &name, paused))
    };
    to.set("traffic_pause", lua.create_function(pause)?)?;
    let stats = move |lua: &Lua, (what, name): (String, String)| {
        let stats = traffic.stats(kind(&what), &name);
        answer(stats.and_then(|row| values::to_lua(lua, &row).map_err(reason)))
    };
    to.set("traffic_stats", lua.create_function(stats)?)
}

/// Packet filters and capture files.
fn add_files(lua: &Lua, to: &Table, world: &'static World) -> mlua::Result<()> {
    let compile = move |_: &Lua, text: String| -> mlua::Result<usize> {
        let mut filters = world.filters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = filters.iter().position(|filter| filter.text() == text) {
            return Ok(known);
        }
        if filters.len() >= OPEN_MAX {
            return Err(mlua::Error::runtime(format!("a script may have {OPEN_MAX} packet filters")));
        }
        let filter = Filter::compile(&text, SNAP_LEN).map_err(mlua::Error::external)?;
        filters.push(Box::leak(Box::new(filter)));
        Ok(filters.len() - 1)
    };
    to.set("filter_compile", lua.create_function(compile)?)?;
    let open = move |_: &Lua, path: String| -> mlua::Result<(usize, usize)> {
        let failed = |error: &dyn std::fmt::Display| mlua::Error::runtime(format!("{path}: {error}"));
        let file = File::open(&path).map_err(|error| failed(&error))?;
        let capture = pcap::read(std::io::BufReader::new(file)).map_err(|error| failed(&error))?;
        if capture.interfaces.iter().any(|interface| interface.link_type != 1) {
            return Err(failed(&"its packets are not Ethernet frames"));
        }
        let mut captures = world.captures.lock().unwrap_or_else(PoisonError::into_inner);
        if captures.len() >= OPEN_MAX {
            return Err(mlua::Error::runtime(format!("a script may open {OPEN_MAX} capture files")));
        }
        let count = capture.records.len();
        captures.push(capture.records.leak());
        Ok((captures.len() - 1, count))
    };
    to.set("capture_open", lua.create_function(open)?)
}
