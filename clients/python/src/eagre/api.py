"""All calls of the API, as methods of both clients."""

from eagre import calls
from eagre.async_campaign import AsyncCampaign
from eagre.async_run import AsyncRun
from eagre.campaign import Campaign
from eagre.endpoint import Endpoint, Opening, Whole
from eagre.run import Run


class Calls:
    """Every call of the API; `Client` and `AsyncClient` have them as methods."""

    version = Endpoint(calls.version)
    openapi = Endpoint(calls.openapi)
    whoami = Endpoint(calls.whoami)
    doctor = Endpoint(calls.doctor)
    audit = Endpoint(calls.audit)
    ports = Endpoint(calls.ports)
    leases = Endpoint(calls.leases)
    new_lease = Endpoint(calls.new_lease)
    renew_lease = Endpoint(calls.renew_lease)
    release_lease = Endpoint(calls.release_lease)
    check = Endpoint(calls.check)
    profiles = Endpoint(calls.profiles)
    profile = Endpoint(calls.profile)
    put_profile = Endpoint(calls.put_profile)
    delete_profile = Endpoint(calls.delete_profile)
    runs = Endpoint(calls.runs)
    new_run = Endpoint(calls.new_run)
    run_info = Endpoint(calls.run_info)
    delete_run = Endpoint(calls.delete_run)
    stop_run = Endpoint(calls.stop_run)
    clear_counters = Endpoint(calls.clear_counters)
    set_rate = Endpoint(calls.set_rate)
    set_scale = Endpoint(calls.set_scale)
    add_streams = Endpoint(calls.add_streams)
    remove_streams = Endpoint(calls.remove_streams)
    ping = Endpoint(calls.ping)
    protocols = Endpoint(calls.protocols)
    change_protocols = Endpoint(calls.change_protocols)
    snapshot = Endpoint(calls.snapshot)
    run_result = Endpoint(calls.run_result)
    kinds = Endpoint(calls.kinds)
    methods = Endpoint(calls.methods)
    campaigns = Endpoint(calls.campaigns)
    new_campaign = Endpoint(calls.new_campaign)
    campaign_info = Endpoint(calls.campaign_info)
    stop_campaign = Endpoint(calls.stop_campaign)
    campaign_result = Endpoint(calls.campaign_result)
    scripts = Endpoint(calls.scripts)
    new_script = Endpoint(calls.new_script)
    script_info = Endpoint(calls.script_info)
    stop_script = Endpoint(calls.stop_script)
    delete_script = Endpoint(calls.delete_script)
    script_result = Endpoint(calls.script_result)
    script_file = Endpoint(calls.script_file)
    results = Endpoint(calls.results)
    stored = Endpoint(calls.stored)
    delete_result = Endpoint(calls.delete_result)
    report = Endpoint(calls.report)
    export = Endpoint(calls.export)
    compare = Endpoint(calls.compare)
    compare_report = Endpoint(calls.compare_report)

    start = Opening(calls.new_run, Run, AsyncRun)
    run_of = Opening(calls.run_info, Run, AsyncRun)
    run = Whole(start, calls.run_result)
    start_campaign = Opening(calls.new_campaign, Campaign, AsyncCampaign)
    campaign_of = Opening(calls.campaign_info, Campaign, AsyncCampaign)
    run_campaign = Whole(start_campaign, calls.stored)
