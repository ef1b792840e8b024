#if canImport(SwiftUI)
    public import SwiftUI

    /// On the phone.
    public struct PhonePlayerScreen: View {
        private let player: PhonePlayer
        @State private var complaint: String?

        public init(_ player: PhonePlayer) { self.player = player }

        public var body: some View {
            List {
                Section("Next") { ForEach(player.queue) { Text($0.title) } }
                Slider(
                    value: Binding {
                        player.volume
                    } set: {
                        player.volume = $0
                    })
                if let complaint { Text(complaint) }
            }
            .task { complaint = await player.complaint() }
        }
    }

    /// On the watch.
    public struct WatchPlayerScreen: View {
        private let player: WatchPlayer

        public init(_ player: WatchPlayer) { self.player = player }

        public var body: some View {
            VStack {
                Text(player.title)
                ProgressView(value: player.volume)
                Button("Louder") { player.turnCrown(by: 1) }
            }
        }
    }
#endif
