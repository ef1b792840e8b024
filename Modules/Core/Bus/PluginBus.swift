/// The meeting point of a mesh's plugins: what is registered, what it contributes, and when it runs.
///
/// ```swift
/// let bus = try PluginBus {
///     WirePlugin()
///     PipeTransportPlugin()
/// }
/// try await bus.run { bus in … }
/// ```
///
/// Safe to use from any thread. There is no global bus: registration is the list at the entry point.
public final class PluginBus: Sendable {
    private struct State {
        var topics: [String: any Sendable] = [:]
        var isRunning = false
    }

    /// Every plugin, each after what it requires.
    public let plugins: [any Plugin]
    private let extensions: ExtensionRegistry
    private let state = Locked(State())

    /// - Throws: as `init(plugins:)`.
    public convenience init(@PluginBuilder _ plugins: () throws -> [any Plugin]) throws {
        try self.init(plugins: plugins())
    }

    /// - Throws: `PluginError` for a duplicate id, a limit that another plugin states otherwise, a missing or circular
    ///   requirement, or a failed contribution.
    public init(plugins: [any Plugin]) throws(PluginError) {
        let ordered = try orderedByRequirement(plugins)
        try requireOneMeaning(ofLimitsIn: ordered.map(\.descriptor))
        var registry = ExtensionRegistry(contributor: "")
        for plugin in ordered {
            registry.contributor = plugin.descriptor.id
            do {
                try plugin.contribute(to: &registry)
            } catch {
                throw .failed(.contributionFailed, "contribute", plugin.descriptor.id, error)
            }
        }
        self.plugins = ordered
        self.extensions = registry
    }

    public var descriptors: [PluginDescriptor] { plugins.map(\.descriptor) }

    public func contributions<Value>(to point: ExtensionPoint<Value>) -> [Contribution<Value>] {
        extensions.contributions(to: point)
    }

    /// The one topic of that id on this bus; made at the first call.
    ///
    /// Two keys with one id and different element types are a mistake in the program and stop it.
    public func topic<Element>(_ key: TopicKey<Element>) -> Topic<Element> {
        state.withLock { state in
            if let existing = state.topics[key.id] {
                guard let topic = existing as? Topic<Element> else {
                    preconditionFailure("topic '\(key.id)' was first used with another element type")
                }
                return topic
            }
            let topic = key.makeTopic()
            state.topics[key.id] = topic
            return topic
        }
    }

    /// Starts every plugin in dependency order, runs them until the task is cancelled, and stops them in reverse.
    public func run() async throws {
        try await run { _ in
            try? await Task.sleep(for: .seconds(Int64.max / 4))
        }
    }

    /// Starts every plugin in dependency order, performs `body` while they run, and stops them in reverse.
    ///
    /// When a plugin's `run` throws, `body` is cancelled.
    /// - Throws: `PluginError` with `startFailed`, `runFailed` or `alreadyRunning`, or what `body` throws.
    public func run<Result: Sendable>(
        _ body: @escaping @Sendable (PluginBus) async throws -> Result
    ) async throws -> Result {
        let wasRunning = state.withLock { state in
            defer { state.isRunning = true }
            return state.isRunning
        }
        guard !wasRunning else {
            throw PluginError(code: .alreadyRunning, plugin: nil, message: "the bus is running already", cause: nil)
        }
        defer { state.withLock { $0.isRunning = false } }

        try await startAll()
        do {
            let result = try await performWhileRunning(body)
            await stop(plugins)
            return result
        } catch {
            await stop(plugins)
            throw error
        }
    }

    private func startAll() async throws(PluginError) {
        for (index, plugin) in plugins.enumerated() {
            do {
                try await plugin.start(in: context(for: plugin))
            } catch {
                await stop(plugins[..<index])
                throw .failed(.startFailed, "start", plugin.descriptor.id, error)
            }
        }
    }

    private func performWhileRunning<Result: Sendable>(
        _ body: @escaping @Sendable (PluginBus) async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result?.self) { group in
            for plugin in plugins {
                group.addTask {
                    do {
                        try await plugin.run(in: self.context(for: plugin))
                    } catch  where !(error is CancellationError) {
                        throw PluginError.failed(.runFailed, "run", plugin.descriptor.id, error)
                    } catch {}
                    return nil
                }
            }
            group.addTask { try await body(self) }
            defer { group.cancelAll() }
            while let finished = try await group.next() {
                if let result = finished { return result }
            }
            throw CancellationError()
        }
    }

    private func stop(_ started: some BidirectionalCollection<any Plugin>) async {
        for plugin in started.reversed() { await plugin.stop() }
    }

    private func context(for plugin: any Plugin) -> PluginContext {
        PluginContext(plugin: plugin.descriptor.id, bus: self)
    }
}
